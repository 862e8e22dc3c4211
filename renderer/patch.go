package main

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// patchRequest is an overlay of plain YAML: a file `name_patch.yaml`.
type patchRequest struct {
	Object json.RawMessage `json:"object"`
	Patch  json.RawMessage `json:"patch"`
}

// applyPatch applies a JSON patch if the patch is a list. Other patches are strategic merge patches
// for the built-in kinds of Kubernetes, and JSON merge patches for custom resources.
func applyPatch(request *patchRequest) (json.RawMessage, error) {
	if len(request.Patch) > 0 && request.Patch[0] == '[' {
		patch, err := jsonpatch.DecodePatch(request.Patch)
		if err != nil {
			return nil, fmt.Errorf("cannot read the JSON patch: %w", err)
		}
		return patch.Apply(request.Object)
	}
	var kind struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(request.Object, &kind); err != nil {
		return nil, err
	}
	typed, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
	if err != nil {
		return jsonpatch.MergePatch(request.Object, request.Patch)
	}
	return strategicpatch.StrategicMergePatch(request.Object, request.Patch, typed)
}
