// Command remotedialer is the reference of the proxy bench: a reverse proxy that reaches its target
// through one tunnel of rancher/remotedialer, built the way that Rancher uses it.
//
//	remotedialer server -front ADDR -tunnel ADDR -target URL [-cert FILE -key FILE]
//	remotedialer client -tunnel URL
//
// The server answers people on -front and the tunnel's client on -tunnel; with a certificate both
// speak TLS, without one neither does. Each end prints "ready" when it is.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"

	"github.com/gorilla/websocket"
	"github.com/rancher/remotedialer"
	"github.com/sirupsen/logrus"
)

const (
	clientHeader = "X-Bench-Client"
	clientKey    = "cluster"
)

func main() {
	logrus.SetLevel(logrus.WarnLevel)
	if len(os.Args) < 2 {
		log.Fatal("want: remotedialer server|client FLAGS")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	tunnel := flags.String("tunnel", "", "server: address for the tunnel; client: its URL")
	front := flags.String("front", "", "server: address for people")
	target := flags.String("target", "", "server: where requests go, as seen from the client")
	certificate := flags.String("cert", "", "server: certificate of both addresses, PEM; plain HTTP if left out")
	key := flags.String("key", "", "server: its key")
	if err := flags.Parse(os.Args[2:]); err != nil {
		log.Fatal(err)
	}
	switch os.Args[1] {
	case "server":
		to, err := url.Parse(*target)
		if err != nil {
			log.Fatal(err)
		}
		serve(*front, *tunnel, to, *certificate, *key)
	case "client":
		connect(*tunnel)
	default:
		log.Fatalf("no such end: %s", os.Args[1])
	}
}

func serve(front, tunnel string, target *url.URL, certificate, key string) {
	// The bench is its own only client, so the name that it gives itself is believed.
	dialer := remotedialer.New(func(request *http.Request) (string, bool, error) {
		name := request.Header.Get(clientHeader)
		return name, name != "", nil
	}, remotedialer.DefaultErrorWriter)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport: &http.Transport{
			DialContext: dialer.Dialer(clientKey),
			// Go's default of 2 would open a connection through the tunnel for nearly every
			// request; this is remotedialer at its best.
			MaxIdleConnsPerHost: 256,
			DisableCompression:  true,
			// The certificate of the bench's own backend; checking it would cost the same.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		FlushInterval: 200 * time.Millisecond,
		ErrorHandler: func(writer http.ResponseWriter, request *http.Request, err error) {
			if request.Context().Err() == nil {
				log.Printf("%s: %v", request.URL.Path, err)
			}
			writer.WriteHeader(http.StatusBadGateway)
		},
	}
	mux := http.NewServeMux()
	mux.Handle("/connect", dialer)
	go listen(tunnel, mux, certificate, key)
	go listen(front, proxy, certificate, key)
	fmt.Println("ready")
	select {}
}

func listen(address string, handler http.Handler, certificate, key string) {
	if certificate == "" {
		log.Fatal(http.ListenAndServe(address, handler))
	}
	log.Fatal(http.ListenAndServeTLS(address, certificate, key, handler))
}

func connect(tunnel string) {
	headers := http.Header{clientHeader: {clientKey}}
	dialer := &websocket.Dialer{
		TLSClientConfig:  &tls.Config{InsecureSkipVerify: true},
		HandshakeTimeout: 10 * time.Second,
	}
	for {
		err := remotedialer.ConnectToProxy(context.Background(), tunnel, headers,
			func(string, string) bool { return true }, dialer,
			func(context.Context, *remotedialer.Session) error {
				fmt.Println("ready")
				return nil
			})
		log.Printf("the tunnel ended: %v", err)
		time.Sleep(200 * time.Millisecond)
	}
}
