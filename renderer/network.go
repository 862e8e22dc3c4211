package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/publicsuffix"

	"drover.dev/renderer/addresses"
	"drover.dev/renderer/roots"
)

const maxRedirects = 5

func httpClient(request *fetchRequest) (*http.Client, error) {
	authorities, err := roots.Pool(request.CA)
	if err != nil {
		return nil, err
	}
	//nolint:gosec // The user of the repository requests the insecure mode.
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: authorities,
		InsecureSkipVerify: request.InsecureSkipTLSVerify,
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: checkDialed}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 30 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	guarded := guarded{inner: transport, home: home(request)}
	return &http.Client{Transport: guarded, CheckRedirect: checkRedirect}, nil
}

// home returns the URL of the repository or registry, which may receive the password.
func home(request *fetchRequest) *url.URL {
	text := request.Repo
	if text == "" {
		text = request.Chart
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return &url.URL{}
	}
	if parsed.Scheme == registryScheme {
		parsed.Scheme = "https"
		if request.PlainHTTP {
			parsed.Scheme = "http"
		}
	}
	return parsed
}

// checkDialed rejects connections to addresses that only the machine itself should reach.
func checkDialed(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	parsed, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	return addresses.Check(parsed)
}

// checkRedirect limits redirects. A redirect to another host loses the credential.
func checkRedirect(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	first := via[0].URL
	if first.Scheme == "https" && request.URL.Scheme != "https" {
		return errors.New("the server redirects from https to " + request.URL.Scheme)
	}
	if request.URL.Host != first.Host || request.URL.Scheme != first.Scheme {
		request.Header.Del("Authorization")
	}
	return nil
}

// guarded bounds every response, also the ones that Helm's registry client reads, and sends the
// password only to the repository.
type guarded struct {
	inner *http.Transport
	home  *url.URL
}

func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	// A proxy connects to the address, so the dialer does not check it.
	if literal, err := netip.ParseAddr(request.URL.Hostname()); err == nil {
		if err := addresses.Check(literal); err != nil {
			return nil, err
		}
	}
	if strings.HasPrefix(request.Header.Get("Authorization"), "Basic ") &&
		!mayReceivePassword(g.home, request.URL) {
		return nil, fmt.Errorf("the repository %s sends its credential to the other domain %s",
			g.home.Host, request.URL.Host)
	}
	answer, err := g.inner.RoundTrip(request)
	if err == nil {
		answer.Body = limitedBody{io.LimitReader(answer.Body, maxIndexBytes+1), answer.Body}
	}
	return answer, err
}

func (g guarded) CloseIdleConnections() { g.inner.CloseIdleConnections() }

type limitedBody struct {
	io.Reader
	io.Closer
}

// mayReceivePassword returns true for the repository itself. A registry can name a token service, which
// may be another host of the same domain.
func mayReceivePassword(home, target *url.URL) bool {
	if home.Scheme == target.Scheme && home.Host == target.Host {
		return true
	}
	if home.Scheme != "https" || target.Scheme != "https" {
		return false
	}
	domain := func(of *url.URL) string {
		if _, err := netip.ParseAddr(of.Hostname()); err == nil {
			return ""
		}
		name, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(of.Hostname()))
		if err != nil {
			return ""
		}
		return name
	}
	return domain(home) != "" && domain(home) == domain(target)
}
