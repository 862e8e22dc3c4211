package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// scaleManagers converts field owners to a scale, and the owners of the scale back.
func scaleManagers(line []byte) (any, error) {
	var asked struct {
		Object  []metav1.ManagedFieldsEntry `json:"object"`
		Scale   []metav1.ManagedFieldsEntry `json:"scale"`
		Version string                      `json:"version"`
		Paths   map[string][]string         `json:"paths"`
	}
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	version, err := schema.ParseGroupVersion(asked.Version)
	if err != nil {
		return nil, err
	}
	mappings := managedfields.ResourcePathMappings{}
	for version, fields := range asked.Paths {
		mappings[version] = nil
		if len(fields) > 0 {
			path := fieldpath.Path{}
			for _, field := range fields {
				path = append(path, fieldpath.FieldNameElement(field))
			}
			mappings[version] = path
		}
	}
	handler := managedfields.NewScaleHandler(asked.Object, version, mappings)
	scale, err := handler.ToSubresource()
	if err != nil {
		return nil, err
	}
	object, err := handler.ToParent(asked.Scale)
	if err != nil {
		return nil, err
	}
	return map[string]any{"scale": scale, "object": object}, nil
}
