package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/registry"
	repo "helm.sh/helm/v4/pkg/repo/v1"
)

const (
	maxArchiveBytes = 32 << 20
	maxIndexBytes   = 64 << 20
	userAgent       = "drover-render"
)

// fetchRequest names a chart. The chart is a name in a repository, or a URL (https or oci).
type fetchRequest struct {
	Chart string `json:"chart"`
	Repo  string `json:"repo"`
	// Version is a version or a constraint. Empty: the newest release.
	Version  string `json:"version"`
	Username string `json:"username"`
	Password string `json:"password"`
	// CA replaces the system's certificate authorities (PEM).
	CA                    string `json:"ca"`
	InsecureSkipTLSVerify bool   `json:"insecureSkipTlsVerify"`
	PlainHTTP             bool   `json:"plainHttp"`
	// PassCredentials sends the password also to hosts other than the repository's host.
	PassCredentials bool `json:"passCredentials"`
}

type fetched struct {
	Version string `json:"version"`
	// Files are the files of the chart, relative to the folder of the chart.
	Files map[string][]byte `json:"files"`
}

// fetch downloads a chart.
func fetch(ctx context.Context, request *fetchRequest) (*fetched, error) {
	client, err := httpClient(request)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	var data []byte
	switch {
	case strings.HasPrefix(request.Chart, "oci://"):
		data, err = fetchOCI(ctx, client, request, request.Chart)
	case strings.HasPrefix(request.Repo, "oci://"):
		reference := strings.TrimSuffix(request.Repo, "/")
		if request.Chart != "" {
			reference += "/" + request.Chart
		}
		data, err = fetchOCI(ctx, client, request, reference)
	case request.Repo != "":
		data, err = fetchFromRepo(ctx, client, request)
	default:
		data, err = download(ctx, client, request, request.Chart, request.Chart, maxArchiveBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot fetch the chart %s: %w", label(request), err)
	}
	return unpack(data)
}

// label names the chart without user information of its URL.
func label(request *fetchRequest) string {
	text := strings.TrimSpace(request.Repo + " " + request.Chart)
	if parsed, err := url.Parse(text); err == nil {
		return parsed.Redacted()
	}
	return request.Chart
}

func unpack(data []byte) (*fetched, error) {
	if err := countFiles(data); err != nil {
		return nil, err
	}
	files, err := archive.LoadArchiveFiles(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("cannot unpack the chart: %w", err)
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("cannot load the chart: %w", err)
	}
	out := &fetched{Version: loaded.Metadata.Version, Files: map[string][]byte{}}
	for _, file := range files {
		out.Files[file.Name] = file.Data
	}
	return out, nil
}

// countFiles rejects archives with too many entries before their content is in memory.
func countFiles(data []byte) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("cannot unpack the chart: %w", err)
	}
	entries := tar.NewReader(io.LimitReader(unzipped, maxInputBytes+1))
	for count := 0; ; count++ {
		if count > maxFiles {
			return fmt.Errorf("the chart has more than %d files", maxFiles)
		}
		if _, err := entries.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("cannot unpack the chart, or it exceeds %d bytes: %w", maxInputBytes, err)
		}
	}
}

func fetchFromRepo(
	ctx context.Context, client *http.Client, request *fetchRequest,
) ([]byte, error) {
	base := strings.TrimSuffix(request.Repo, "/")
	data, err := download(ctx, client, request, base, base+"/index.yaml", maxIndexBytes)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "index")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "index.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, err
	}
	index, err := repo.LoadIndexFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the index of the repository: %w", err)
	}
	version, err := index.Get(request.Chart, request.Version)
	if err != nil {
		return nil, fmt.Errorf("no version of the chart matches %q: %w", request.Version, err)
	}
	if len(version.URLs) == 0 {
		return nil, errors.New("the repository's index has no URL for the chart")
	}
	location, err := repo.ResolveReferenceURL(base, version.URLs[0])
	if err != nil {
		return nil, err
	}
	return download(ctx, client, request, base, location, maxArchiveBytes)
}

// download reads a URL. It sends the password only to the host of `origin`, except when the
// request passes credentials to all hosts.
func download(
	ctx context.Context, client *http.Client, request *fetchRequest, origin, location string, limit int64,
) ([]byte, error) {
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, errors.New("the URL is not valid")
	}
	if get.URL.Scheme != "https" && get.URL.Scheme != "http" {
		return nil, fmt.Errorf("the URL scheme %q is not supported; use https or oci", get.URL.Scheme)
	}
	get.Header.Set("User-Agent", userAgent)
	home, err := url.Parse(origin)
	if err != nil {
		return nil, errors.New("the URL is not valid")
	}
	same := home.Scheme == get.URL.Scheme && home.Host == get.URL.Host
	if (request.Username != "" || request.Password != "") && (same || request.PassCredentials) {
		get.SetBasicAuth(request.Username, request.Password)
	}
	answer, err := client.Do(get)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s returned %s", get.URL.Redacted(), answer.Status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", get.URL.Redacted(), limit)
	}
	return data, nil
}

func httpClient(request *fetchRequest) (*http.Client, error) {
	//nolint:gosec // The user of the repository requests the insecure mode.
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: request.InsecureSkipTLSVerify,
	}
	if request.CA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(request.CA)) {
			return nil, errors.New("the CA bundle has no certificate")
		}
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSClientConfig:       config,
		ResponseHeaderTimeout: 30 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	return &http.Client{Transport: limited{transport}}, nil
}

// limited bounds every response, also the ones that Helm's registry client reads.
type limited struct{ inner *http.Transport }

func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := l.inner.RoundTrip(request)
	if err == nil {
		answer.Body = limitedBody{io.LimitReader(answer.Body, maxIndexBytes+1), answer.Body}
	}
	return answer, err
}

func (l limited) CloseIdleConnections() { l.inner.CloseIdleConnections() }

type limitedBody struct {
	io.Reader
	io.Closer
}

func fetchOCI(
	ctx context.Context, client *http.Client, request *fetchRequest, reference string,
) ([]byte, error) {
	folder, err := os.MkdirTemp("", "registry")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	options := []registry.ClientOption{
		registry.ClientOptHTTPClient(client),
		registry.ClientOptWriter(io.Discard),
		registry.ClientOptCredentialsFile(filepath.Join(folder, "credentials.json")),
	}
	if request.Username != "" || request.Password != "" {
		options = append(options, registry.ClientOptBasicAuth(request.Username, request.Password))
	}
	if request.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	registryClient, err := registry.NewClient(options...)
	if err != nil {
		return nil, err
	}
	parsed, err := url.Parse(reference)
	if err != nil {
		return nil, errors.New("the URL is not valid")
	}
	_, resolved, err := registryClient.ValidateReference(reference, request.Version, parsed)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pulled, err := registryClient.Pull(
		strings.TrimPrefix(resolved.String(), "oci://"), registry.PullOptWithChart(true))
	if err != nil {
		return nil, err
	}
	if int64(len(pulled.Chart.Data)) > maxArchiveBytes {
		return nil, fmt.Errorf("the archive is larger than %d bytes", maxArchiveBytes)
	}
	return pulled.Chart.Data, nil
}
