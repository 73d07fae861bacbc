// A gateway of nothing but Go's standard library: net/http in front, httputil.ReverseProxy behind.
package main

import (
	"crypto/tls"
	"flag"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "where to listen")
	to := flag.String("to", "127.0.0.1:8000", "the upstream")
	certificate := flag.String("tls", "", "serve over TLS, with cert.pem and key.pem of this directory")
	flag.Parse()

	upstream := &url.URL{Scheme: "http", Host: *to}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(upstream)
			r.SetXForwarded()
		},
		// The default keeps two idle connections to a host and opens the others anew each time.
		Transport: &http.Transport{
			MaxIdleConns:        1024,
			MaxIdleConnsPerHost: 1024,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true,
		},
	}
	server := &http.Server{Addr: *listen, Handler: proxy}
	if *certificate == "" {
		log.Fatal(server.ListenAndServe())
	}
	// An empty table leaves HTTP/2 out: every gateway here speaks HTTP/1.1.
	server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	log.Fatal(server.ListenAndServeTLS(*certificate+"/cert.pem", *certificate+"/key.pem"))
}
