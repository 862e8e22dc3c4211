package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	kustomizationFile = "kustomization.yaml"
	// chartResultFile holds the objects of the chart. Fleet uses this name, and kustomizations may
	// refer to it.
	chartResultFile = "fleet-manifests.yaml"
	// pathAnnotation keeps the template of an object while Kustomize runs.
	pathAnnotation = "internal.drover.dev/template"
)

// offline rejects each HTTP request. Kustomize reads URLs with the default transport, and a bundle must
// not send requests from the agent's network. For git repositories, Kustomize starts the program git,
// which main prevents.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("a kustomization cannot read URLs; add the file to the bundle")
}

// kustomize builds the kustomization in the folder. The rendered templates of a chart become a
// resource of the kustomization.
func kustomize(
	bundle map[string][]byte, folder string, rendered map[string]string,
) (map[string]string, error) {
	folder = path.Clean("/" + folder)[1:]
	if folder == "" {
		folder = "."
	}
	files := filesys.MakeEmptyDirInMemory()
	for name, data := range bundle {
		if err := files.WriteFile(name, data); err != nil {
			return nil, fmt.Errorf("cannot use the file %s: %w", name, err)
		}
	}
	kustomization := path.Join(folder, kustomizationFile)
	if !files.Exists(kustomization) {
		return rendered, nil
	}
	merged, err := merge(rendered)
	if err != nil {
		return nil, err
	}
	if len(merged) > 0 {
		if err := files.WriteFile(path.Join(folder, chartResultFile), merged); err != nil {
			return nil, err
		}
		if err := addResource(files, kustomization); err != nil {
			return nil, err
		}
	}
	network := http.DefaultTransport
	http.DefaultTransport = offline{}
	defer func() { http.DefaultTransport = network }()
	built, err := krusty.MakeKustomizer(&krusty.Options{
		LoadRestrictions: types.LoadRestrictionsRootOnly,
		PluginConfig:     types.DisabledPluginConfig(),
	}).Run(files, folder)
	if err != nil {
		return nil, fmt.Errorf("cannot build the kustomization in %s: %w", folder, err)
	}
	out := map[string]string{}
	for _, resource := range built.Resources() {
		object, err := resource.Map()
		if err != nil {
			return nil, err
		}
		name := takePath(object, kustomization)
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		out[name] += "---\n" + string(text)
	}
	return out, nil
}

// merge joins the rendered objects into one YAML stream, with the template of each object.
func merge(rendered map[string]string) ([]byte, error) {
	out := &results{}
	// Kustomize receives the objects and the hooks. The hooks keep their annotations.
	if err := sortObjects(rendered, out); err != nil {
		return nil, err
	}
	all := slices.Clone(out.Manifests)
	for _, hook := range out.Hooks {
		all = append(all, hook.manifest)
	}
	var stream []byte
	for _, one := range all {
		var object map[string]any
		if err := yaml.Unmarshal(one.Object, &object); err != nil {
			return nil, err
		}
		setPath(object, one.Path)
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		stream = append(append(stream, "---\n"...), text...)
	}
	return stream, nil
}

func addResource(files filesys.FileSystem, kustomization string) error {
	data, err := files.ReadFile(kustomization)
	if err != nil {
		return err
	}
	content := map[string]any{}
	if err := yaml.Unmarshal(data, &content); err != nil {
		return fmt.Errorf("cannot parse %s: %w", kustomization, err)
	}
	resources, ok := content["resources"].([]any)
	if !ok && content["resources"] != nil {
		return errors.New(kustomization + ": resources is not a list")
	}
	if slices.Contains(resources, any(chartResultFile)) {
		return nil
	}
	content["resources"] = append([]any{chartResultFile}, resources...)
	data, err = yaml.Marshal(content)
	if err != nil {
		return err
	}
	return files.WriteFile(kustomization, data)
}

func setPath(object map[string]any, name string) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[pathAnnotation] = name
}

func takePath(object map[string]any, fallback string) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	name, ok := annotations[pathAnnotation].(string)
	if !ok {
		return fallback
	}
	annotations = maps.Clone(annotations)
	delete(annotations, pathAnnotation)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	} else {
		metadata["annotations"] = annotations
	}
	return name
}
