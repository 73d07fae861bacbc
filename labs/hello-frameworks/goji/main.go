// Hello on goji: goji ADDRESS
package main

import (
	"io"
	"log"
	"net/http"
	"os"

	"goji.io"
	"goji.io/pat"
)

func main() {
	mux := goji.NewMux()
	mux.HandleFunc(pat.Get("/"), func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "hello world")
	})
	log.Fatal(http.ListenAndServe(os.Args[1], mux))
}
