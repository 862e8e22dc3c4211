package main

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

type patchCase struct {
	Live  json.RawMessage `json:"live"`
	Patch json.RawMessage `json:"patch"`
}

// Item is an element of a list that merges by the field `name`.
type Item struct {
	Name    string            `json:"name"`
	Size    int64             `json:"size,omitempty"`
	Text    string            `json:"text,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Words   []string          `json:"words,omitempty" patchStrategy:"merge"`
	Parts   []Part            `json:"parts,omitempty" patchStrategy:"merge" patchMergeKey:"id"`
	Deeper  *Item             `json:"deeper,omitempty"`
	Replace []Part            `json:"replace,omitempty"`
}

// Part is an element of a list that merges by the number field `id`.
type Part struct {
	ID   int64  `json:"id"`
	Text string `json:"text,omitempty"`
}

// Choice is a struct with the patch strategy `retainKeys`.
type Choice struct {
	Kind string `json:"kind,omitempty"`
	A    *Part  `json:"a,omitempty"`
	B    *Part  `json:"b,omitempty"`
}

// Subject has a field for each feature of strategic merge patches.
type Subject struct {
	Items  []Item            `json:"items,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name"`
	Words  []string          `json:"words,omitempty" patchStrategy:"merge"`
	Plain  []string          `json:"plain,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Choice Choice            `json:"choice,omitempty" patchStrategy:"retainKeys"`
	Inner  *Item             `json:"inner,omitempty"`
	Text   string            `json:"text,omitempty"`
	Size   int64             `json:"size,omitempty"`
}

func strategic(line []byte) (any, error) {
	var asked patchCase
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	live, patch := map[string]any{}, map[string]any{}
	if err := utiljson.Unmarshal(asked.Live, &live); err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal(asked.Patch, &patch); err != nil {
		return nil, err
	}
	// The lists have no spare capacity, as after the conversion from a struct.
	live = runtime.DeepCopyJSON(live)
	merged, err := strategicpatch.StrategicMergeMapPatch(live, patch, &Subject{})
	return map[string]any(merged), err
}

// operation is the JSON patch operation that kube-apiserver decodes strictly.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// operationFields reports the strict decoding errors of a JSON patch.
func operationFields(line []byte) (any, error) {
	var asked patchCase
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	var operations []operation
	strict, err := kjson.UnmarshalStrict(asked.Patch, &operations)
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, one := range strict {
		found = append(found, "json patch "+one.Error())
	}
	return found, nil
}

func jsonPatch(line []byte) (any, error) {
	var asked patchCase
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(asked.Patch)
	if err != nil {
		return nil, err
	}
	patched, err := patch.Apply(asked.Live)
	return json.RawMessage(patched), err
}

func mergePatch(line []byte) (any, error) {
	var asked patchCase
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	patched, err := jsonpatch.MergePatch(asked.Live, asked.Patch)
	return json.RawMessage(patched), err
}
