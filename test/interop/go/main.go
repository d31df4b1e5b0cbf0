// Serves one of the verifiers on loopback, as the test expects it: `interop go-oidc`.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

var verifiers = map[string]func(context.Context) (func(context.Context, string) error, error){
	"go-oidc":                 GoOIDC,
	"golang-jwt with keyfunc": Keyfunc,
	"lestrrat-go/jwx":         JWX,
}

func main() {
	verify, err := verifiers[os.Args[1]](context.Background())
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ready %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := io.ReadAll(r.Body)
		if err == nil {
			err = verify(r.Context(), string(token))
		}
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, err)
		}
	})))
}
