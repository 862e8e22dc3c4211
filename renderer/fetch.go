package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v4/pkg/registry"
	repo "helm.sh/helm/v4/pkg/repo/v1"
	"oras.land/oras-go/v2/registry/remote/auth"
	"sigs.k8s.io/yaml"
)

const (
	maxArchiveBytes = 32 << 20
	maxIndexBytes   = 64 << 20
	userAgent       = "drover-render"
	registryScheme  = "oci"
)

// fetchRequest names a chart. The chart is a name in a repository, or a URL (https or oci).
type fetchRequest struct {
	Chart string `json:"chart"`
	Repo  string `json:"repo"`
	// Version is a version or a constraint. Empty: the newest release.
	Version  string `json:"version"`
	Username string `json:"username"`
	Password string `json:"password"`
	// CA has certificate authorities in addition to the system's (PEM).
	CA                    string `json:"ca"`
	InsecureSkipTLSVerify bool   `json:"insecureSkipTlsVerify"`
	PlainHTTP             bool   `json:"plainHttp"`
	// Layout selects the form of the result.
	Layout layout `json:"layout"`
	// Selections are the charts of the repository whose newest versions are wanted. They replace Chart and
	// Version, and need the layout versions.
	Selections []selection `json:"selections"`
	// MaxBytes limits the unpacked archive.
	MaxBytes int64 `json:"maxBytes"`
}

// selection names a chart of a repository, and a version or a constraint.
type selection struct {
	Chart   string `json:"chart"`
	Version string `json:"version"`
}

// selected is the newest version of a selection, or the reason why there is none.
type selected struct {
	Version string `json:"version"`
	Error   string `json:"error"`
}

// layout is the form of a fetched chart.
type layout string

const (
	// layoutArchive: files with their paths in the archive, which begin with the name of the chart.
	layoutArchive layout = "archive"
	// layoutPacked: the archive as one file.
	layoutPacked layout = "packed"
	// layoutVersion: no file, only the newest version that the request selects.
	layoutVersion layout = "version"
	// layoutVersions: no file, only the newest versions of the selections of one repository.
	layoutVersions layout = "versions"
)

type fetched struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Files   map[string][]byte `json:"files"`
	// Versions are the results of the selections, in their order.
	Versions []selected `json:"versions,omitempty"`
}

// fetch downloads a chart.
func fetch(ctx context.Context, request *fetchRequest) (*fetched, error) {
	client, err := httpClient(request)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	if request.Layout == layoutVersions {
		versions, err := newestVersions(ctx, client, request)
		if err != nil {
			return nil, fmt.Errorf("cannot read the repository %s: %w", label(request), err)
		}
		return &fetched{Versions: versions}, nil
	}
	if request.Layout == layoutVersion {
		version, err := newestVersion(ctx, client, request)
		if err != nil {
			return nil, fmt.Errorf("cannot find a version of the chart %s: %w", label(request), err)
		}
		return &fetched{Version: version}, nil
	}
	var data []byte
	switch {
	case strings.HasPrefix(request.Chart, "oci://"):
		data, err = fetchOCI(ctx, client, request, request.Chart)
	case request.Repo != "":
		data, err = fetchFromRepo(ctx, client, request)
	default:
		data, err = download(ctx, client, request, request.Chart, request.Chart, maxArchiveBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot fetch the chart %s: %w", label(request), err)
	}
	result, err := unpack(data, request)
	if err != nil {
		return nil, fmt.Errorf("cannot use the chart %s: %w", label(request), permanentError{err})
	}
	// The version of a direct URL selects nothing.
	if request.Repo != "" || strings.HasPrefix(request.Chart, "oci://") {
		if err := checkVersion(request.Version, result.Version); err != nil {
			return nil, fmt.Errorf("cannot use the chart %s: %w", label(request), permanentError{err})
		}
	}
	return result, nil
}

// newestVersion returns the version that a request for a repository or registry selects.
func newestVersion(
	ctx context.Context, client *http.Client, request *fetchRequest,
) (string, error) {
	if request.Repo == "" {
		registryClient, done, err := newRegistry(client, request, request.Chart)
		if err != nil {
			return "", err
		}
		defer done()
		_, version, err := resolve(registryClient, request.Chart, request.Version)
		if err != nil {
			return "", err
		}
		if version == "" {
			return "", errors.New("the address contains a digest instead of a version")
		}
		return version, ctx.Err()
	}
	found, err := findInRepo(ctx, client, request)
	if err != nil {
		return "", err
	}
	return found.Version, nil
}

// newestVersions returns the versions that the selections select. It reads the index once.
func newestVersions(
	ctx context.Context, client *http.Client, request *fetchRequest,
) ([]selected, error) {
	index, err := readIndex(ctx, client, request)
	if err != nil {
		return nil, err
	}
	versions := make([]selected, 0, len(request.Selections))
	for _, selection := range request.Selections {
		entry, err := findInIndex(index, selection.Chart, selection.Version)
		if err != nil {
			named := fetchRequest{Repo: request.Repo, Chart: selection.Chart, Version: selection.Version}
			message := fmt.Sprintf("cannot find a version of the chart %s: %v", label(&named), err)
			versions = append(versions, selected{Error: message})
			continue
		}
		versions = append(versions, selected{Version: entry.Version})
	}
	return versions, nil
}

// checkVersion requires that a chart has the version that the request selects.
func checkVersion(wanted, version string) error {
	if wanted == "" || wanted == version {
		return nil
	}
	found, err := semver.NewVersion(version)
	if err != nil {
		return fmt.Errorf("the chart has the version %q, which is no semantic version", version)
	}
	constraint, err := semver.NewConstraint(wanted)
	if err != nil || !constraint.Check(found) {
		return fmt.Errorf("the chart has the version %s, and the requested version is %s", version, wanted)
	}
	return nil
}

// label names the chart without user information of its URL.
func label(request *fetchRequest) string {
	var parts []string
	for _, part := range []string{request.Repo, request.Chart} {
		if parsed, err := url.Parse(part); err == nil && part != "" {
			parts = append(parts, parsed.Redacted())
		}
	}
	if request.Version != "" {
		parts = append(parts, request.Version)
	}
	return strings.Join(parts, " ")
}

func fetchFromRepo(
	ctx context.Context, client *http.Client, request *fetchRequest,
) ([]byte, error) {
	version, err := findInRepo(ctx, client, request)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(request.Repo, "/")
	if len(version.URLs) == 0 {
		return nil, errors.New("the repository's index has no URL for the chart")
	}
	location, err := repo.ResolveReferenceURL(base, version.URLs[0])
	if err != nil {
		return nil, err
	}
	return download(ctx, client, request, base, location, maxArchiveBytes)
}

// findInRepo returns the entry of a repository's index that a request selects.
func findInRepo(
	ctx context.Context, client *http.Client, request *fetchRequest,
) (*repo.ChartVersion, error) {
	index, err := readIndex(ctx, client, request)
	if err != nil {
		return nil, err
	}
	return findInIndex(index, request.Chart, request.Version)
}

// readIndex downloads the index of a repository.
func readIndex(
	ctx context.Context, client *http.Client, request *fetchRequest,
) (*repo.IndexFile, error) {
	base := strings.TrimSuffix(request.Repo, "/")
	data, err := download(ctx, client, request, base, base+"/index.yaml", maxIndexBytes)
	if err != nil {
		return nil, err
	}
	var index repo.IndexFile
	if err := yaml.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("cannot read the index of the repository: %w", err)
	}
	// Entries without metadata would make the search panic.
	for name, versions := range index.Entries {
		index.Entries[name] = slices.DeleteFunc(versions, func(entry *repo.ChartVersion) bool {
			return entry == nil || entry.Metadata == nil
		})
	}
	index.SortEntries()
	return &index, nil
}

// findInIndex returns the entry of an index for a version or a constraint.
func findInIndex(index *repo.IndexFile, name, version string) (*repo.ChartVersion, error) {
	found, err := index.Get(name, version)
	if err != nil {
		return nil, permanentError{fmt.Errorf("no version of the chart matches %q: %w", version, err)}
	}
	return found, nil
}

// download reads a URL. It sends the password only to the host of `origin`.
func download(
	ctx context.Context, client *http.Client, request *fetchRequest, origin, location string, limit int64,
) ([]byte, error) {
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, permanentError{errors.New("the URL is not valid")}
	}
	if get.URL.Scheme != "https" && get.URL.Scheme != "http" {
		return nil, permanentError{
			fmt.Errorf("the URL scheme %q is not supported; use https or oci", get.URL.Scheme),
		}
	}
	get.Header.Set("User-Agent", userAgent)
	home, err := url.Parse(origin)
	if err != nil {
		return nil, errors.New("the URL is not valid")
	}
	same := home.Scheme == get.URL.Scheme && home.Host == get.URL.Host
	if (request.Username != "" || request.Password != "") && same {
		get.SetBasicAuth(request.Username, request.Password)
	}
	answer, err := client.Do(get)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		err := fmt.Errorf("%s returned %s", get.URL.Redacted(), answer.Status)
		if isPermanentStatus(answer.StatusCode) {
			return nil, permanentError{err}
		}
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, permanentError{fmt.Errorf("%s is larger than %d bytes", get.URL.Redacted(), limit)}
	}
	return data, nil
}

func fetchOCI(
	ctx context.Context, client *http.Client, request *fetchRequest, reference string,
) ([]byte, error) {
	registryClient, done, err := newRegistry(client, request, reference)
	if err != nil {
		return nil, err
	}
	defer done()
	resolved, _, err := resolve(registryClient, reference, request.Version)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pulled, err := registryClient.Pull(
		strings.TrimPrefix(resolved, "oci://"), registry.PullOptWithChart(true))
	if err != nil {
		return nil, err
	}
	if int64(len(pulled.Chart.Data)) > maxArchiveBytes {
		return nil, permanentError{fmt.Errorf("the archive is larger than %d bytes", maxArchiveBytes)}
	}
	return pulled.Chart.Data, nil
}

// resolve returns the reference with the tag that a version selects, and the tag.
func resolve(client *registry.Client, reference, version string) (tagged, tag string, _ error) {
	parsed, err := url.Parse(reference)
	if err != nil {
		return "", "", errors.New("the URL is not valid")
	}
	// Helm's client takes an incomplete version, for example 1.2, for a tag.
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); version != "" && err != nil {
		tags, err := client.Tags(strings.TrimPrefix(reference, "oci://"))
		if err != nil {
			return "", "", err
		}
		if version, err = registry.GetTagMatchingVersionOrConstraint(tags, version); err != nil {
			return "", "", permanentError{err}
		}
	}
	_, resolved, err := client.ValidateReference(reference, version, parsed)
	if err != nil {
		return "", "", err
	}
	name := path.Base(resolved.Path)
	_, tag, found := strings.Cut(name, ":")
	if !found || strings.Contains(name, "@") {
		tag = ""
	}
	return resolved.String(), tag, nil
}

// newRegistry returns a client for the registry of a reference. The caller calls `done`.
func newRegistry(
	client *http.Client, request *fetchRequest, reference string,
) (_ *registry.Client, done func(), _ error) {
	parsed, err := url.Parse(reference)
	if err != nil {
		return nil, nil, errors.New("the URL is not valid")
	}
	folder, err := os.MkdirTemp("", "registry")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.RemoveAll(folder) }
	// Without own credentials, the client must not search for credentials of users.
	authorizer := auth.Client{Client: client, Cache: auth.NewCache()}
	authorizer.SetUserAgent(userAgent)
	authorizer.Credential = func(_ context.Context, host string) (auth.Credential, error) {
		if host != parsed.Host {
			return auth.EmptyCredential, nil
		}
		return auth.Credential{Username: request.Username, Password: request.Password}, nil
	}
	options := []registry.ClientOption{
		registry.ClientOptHTTPClient(client),
		registry.ClientOptAuthorizer(authorizer),
		registry.ClientOptWriter(io.Discard),
		registry.ClientOptCredentialsFile(filepath.Join(folder, "credentials.json")),
	}
	if request.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	registryClient, err := registry.NewClient(options...)
	if err != nil {
		done()
		return nil, nil, err
	}
	return registryClient, done, nil
}
