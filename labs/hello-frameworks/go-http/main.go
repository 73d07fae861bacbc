// Hello on Go's standard library: go-http ADDRESS
package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	hello := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "hello world")
	}
	log.Fatal(http.ListenAndServe(os.Args[1], http.HandlerFunc(hello)))
}
