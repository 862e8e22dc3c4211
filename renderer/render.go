package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/yaml"

	"drover.dev/renderer/tarball"
)

const notesSuffix = "NOTES.txt"

// maxInputBytes limits the files of a request. It also bounds the memory of the process.
const maxInputBytes = 100 << 20

// render renders the chart, and passes the result through Kustomize.
func render(ctx context.Context, conn *connection, request *renderRequest) (*results, error) {
	if err := checkInput(request.Files); err != nil {
		return nil, err
	}
	out := &results{Manifests: []manifest{}, Hooks: []hook{}, CRDs: []manifest{}}
	files := map[string]string{}
	if request.Chart != nil {
		var err error
		if files, err = renderChart(ctx, conn, request, out); err != nil {
			return nil, err
		}
	}
	if request.Kustomize != nil {
		var err error
		if files, err = kustomize(request.Files, *request.Kustomize, files); err != nil {
			return nil, err
		}
	}
	return out, sortObjects(files, out)
}

func checkInput(files map[string][]byte) error {
	if len(files) > tarball.MaxFiles {
		return fmt.Errorf("the bundle has %d files, more than the limit of %d", len(files), tarball.MaxFiles)
	}
	total := 0
	for _, data := range files {
		total += len(data)
	}
	if total > maxInputBytes {
		return fmt.Errorf("the files have %d bytes, more than the limit of %d", total, maxInputBytes)
	}
	return nil
}

// renderChart returns the rendered templates by path.
func renderChart(
	ctx context.Context, conn *connection, request *renderRequest, out *results,
) (map[string]string, error) {
	loaded, err := loadChart(request)
	if err != nil {
		return nil, err
	}
	caps, err := capabilities(request)
	if err != nil {
		return nil, err
	}
	wanted := loaded.Metadata.KubeVersion
	if wanted != "" && !util.IsCompatibleRange(wanted, caps.KubeVersion.String()) {
		return nil, fmt.Errorf(
			"chart requires kubeVersion: %s which is incompatible with Kubernetes %s",
			wanted, caps.KubeVersion.Version)
	}
	if request.Values == nil {
		request.Values = map[string]any{}
	}
	if err := util.ProcessDependencies(loaded, request.Values); err != nil {
		return nil, fmt.Errorf("cannot process the dependencies of the chart: %w", err)
	}
	for _, crd := range loaded.CRDObjects() {
		objects, err := parse(crd.Filename, string(crd.File.Data))
		if err != nil {
			return nil, err
		}
		out.CRDs = append(out.CRDs, objects...)
	}
	options := common.ReleaseOptions{
		Name:      request.ReleaseName,
		Namespace: request.Namespace,
		Revision:  request.Revision,
		IsInstall: !request.IsUpgrade,
		IsUpgrade: request.IsUpgrade,
	}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(
		loaded, request.Values, options, caps, request.SkipSchemaValidation)
	if err != nil {
		return nil, err
	}
	// A custom function replaces the engine's `lookup`, so that the agent answers with the
	// permissions of the deploying account.
	renderer := engine.Engine{
		EnableDNS: request.EnableDNS,
		CustomTemplateFuncs: template.FuncMap{
			"lookup": func(apiVersion, kind, namespace, name string) (map[string]any, error) {
				out.UsedLookup = true
				return conn.ask(lookup{apiVersion, kind, namespace, name})
			},
		},
	}
	files, err := renderer.RenderWithContext(ctx, loaded, values)
	if err != nil {
		return nil, err
	}
	out.Notes = takeNotes(files, loaded.Name())
	out.Chart, err = json.Marshal(loaded)
	return files, err
}

func loadChart(request *renderRequest) (*chart.Chart, error) {
	prefix := strings.Trim(path.Clean(*request.Chart), "/") + "/"
	if prefix == "./" {
		prefix = ""
	}
	var files []*archive.BufferedFile
	for _, name := range slices.Sorted(maps.Keys(request.Files)) {
		if inside, ok := strings.CutPrefix(name, prefix); ok {
			files = append(files, &archive.BufferedFile{Name: inside, Data: request.Files[name]})
		}
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("cannot load the chart: %w", err)
	}
	switch loaded.Metadata.Type {
	case "", "application":
	default:
		return nil, fmt.Errorf("%s charts are not installable", loaded.Metadata.Type)
	}
	if len(request.ChartAnnotations) > 0 {
		if loaded.Metadata.Annotations == nil {
			loaded.Metadata.Annotations = map[string]string{}
		}
		maps.Copy(loaded.Metadata.Annotations, request.ChartAnnotations)
	}
	return loaded, checkDependencies(loaded)
}

// checkDependencies requires that the chart contains the charts that its Chart.yaml names.
func checkDependencies(loaded *chart.Chart) error {
	var missing []string
	for _, wanted := range loaded.Metadata.Dependencies {
		contains := slices.ContainsFunc(loaded.Dependencies(), func(present *chart.Chart) bool {
			return present.Name() == wanted.Name
		})
		if !contains {
			missing = append(missing, wanted.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf(
			"found in Chart.yaml, but missing in charts/ directory: %s", strings.Join(missing, ", "))
	}
	return nil
}

func capabilities(request *renderRequest) (*common.Capabilities, error) {
	caps := common.DefaultCapabilities.Copy()
	if request.KubeVersion != "" {
		version, err := common.ParseKubeVersion(request.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("cannot parse the version of Kubernetes: %w", err)
		}
		caps.KubeVersion = *version
	}
	if len(request.APIVersions) > 0 {
		caps.APIVersions = request.APIVersions
	}
	return caps, nil
}

// takeNotes removes the notes of all charts, and returns the notes of the main chart.
func takeNotes(files map[string]string, chartName string) string {
	notes := ""
	for name, content := range files {
		if !strings.HasSuffix(name, notesSuffix) {
			continue
		}
		if name == path.Join(chartName, "templates", notesSuffix) {
			notes = content
		}
		delete(files, name)
	}
	return notes
}

// sortObjects separates hooks from objects, and brings both into Helm's order.
func sortObjects(files map[string]string, out *results) error {
	hooks, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	for _, rendered := range manifests {
		objects, err := parse(rendered.Name, rendered.Content)
		if err != nil {
			return err
		}
		out.Manifests = append(out.Manifests, objects...)
	}
	for _, rendered := range hooks {
		objects, err := parse(rendered.Path, rendered.Manifest)
		if err != nil {
			return err
		}
		for _, object := range objects {
			out.Hooks = append(out.Hooks, hook{
				manifest:          object,
				Name:              rendered.Name,
				Kind:              rendered.Kind,
				Events:            texts(rendered.Events),
				Weight:            rendered.Weight,
				DeletePolicies:    texts(rendered.DeletePolicies),
				OutputLogPolicies: texts(rendered.OutputLogPolicies),
			})
		}
	}
	return nil
}

func texts[T ~string](values []T) []string {
	out := make([]string, 0, len(values))
	for _, value := range values {
		out = append(out, string(value))
	}
	return out
}

// parse converts the documents of one file. Empty documents are skipped.
func parse(name, content string) ([]manifest, error) {
	documents := releaseutil.SplitManifests(content)
	keys := slices.Collect(maps.Keys(documents))
	slices.SortFunc(keys, func(a, b string) int {
		order := releaseutil.BySplitManifestsOrder{a, b}
		if order.Less(0, 1) {
			return -1
		}
		return 1
	})
	var out []manifest
	for _, key := range keys {
		object, err := yaml.YAMLToJSON([]byte(documents[key]))
		if err != nil {
			return nil, fmt.Errorf("YAML parse error on %s: %w", name, err)
		}
		if string(object) == "null" {
			continue
		}
		if object[0] != '{' {
			return nil, errors.New("YAML parse error on " + name + ": the document is not an object")
		}
		out = append(out, manifest{Path: name, Object: object})
	}
	return out, nil
}
