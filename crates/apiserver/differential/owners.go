package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ownersCase is a sequence of writes to one object.
type ownersCase struct {
	// Schemas by version.
	Schemas map[string]json.RawMessage `json:"schemas"`
	Group   string                     `json:"group"`
	Kind    string                     `json:"kind"`
	// The fields that the endpoint resets.
	Reset []string        `json:"reset"`
	Start json.RawMessage `json:"start"`
	Steps []step          `json:"steps"`
}

type step struct {
	// The type of the write: "apply" or "update".
	How         string          `json:"how"`
	Version     string          `json:"version"`
	Manager     string          `json:"manager"`
	Subresource string          `json:"subresource"`
	Force       bool            `json:"force"`
	Object      json.RawMessage `json:"object"`
}

// stepAnswer is the object after a step; an error leaves the object unchanged.
type stepAnswer struct {
	Object map[string]any `json:"object,omitempty"`
	Error  string         `json:"error,omitempty"`
	Causes []string       `json:"causes,omitempty"`
}

// versions converts as a CRD without conversion webhooks does: only the version name changes.
type versions struct{ known map[schema.GroupVersion]bool }

func (v versions) Convert(in, out, context any) error { return fmt.Errorf("not implemented, because no case needs it") }

func (v versions) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	kind := in.GetObjectKind().GroupVersionKind()
	target, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{kind})
	if !ok {
		if gv, is := to.(schema.GroupVersion); is {
			target = gv.WithKind(kind.Kind)
		}
	}
	if !v.known[target.GroupVersion()] {
		return nil, runtime.NewNotRegisteredErrForKind("versions", target)
	}
	out := in.DeepCopyObject()
	out.GetObjectKind().SetGroupVersionKind(target)
	return out, nil
}

func (v versions) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", fmt.Errorf("not implemented, because no case needs it")
}

type nothing struct{}

func (nothing) Default(runtime.Object) {}

func (nothing) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	return object, nil
}

func owners(line []byte) (any, error) {
	var asked ownersCase
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	models := map[string]*spec.Schema{}
	known := map[schema.GroupVersion]bool{}
	for version, text := range asked.Schemas {
		model := &spec.Schema{}
		if err := json.Unmarshal(text, model); err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
		model.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{
			"group": asked.Group, "version": version, "kind": asked.Kind,
		}})
		models["io.example."+version+"."+asked.Kind] = model
		known[schema.GroupVersion{Group: asked.Group, Version: version}] = true
	}
	types, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		return nil, err
	}
	var live *unstructured.Unstructured
	if len(asked.Start) > 0 && string(asked.Start) != "null" {
		if live, err = object(asked.Start); err != nil {
			return nil, err
		}
	}
	answers := []stepAnswer{}
	for _, step := range asked.Steps {
		next, err := take(asked, step, types, known, live)
		if err != nil {
			answers = append(answers, refused(err))
			continue
		}
		// The storage sets the UID of each object.
		if next.GetUID() == "" {
			next.SetUID("1")
		}
		live = next
		answers = append(answers, stepAnswer{Object: next.DeepCopy().Object})
	}
	return answers, nil
}

func object(text []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	decoder := utiljson.Unmarshal
	return object, decoder(bytes.TrimSpace(text), &object.Object)
}

func take(asked ownersCase, step step, types managedfields.TypeConverter, known map[schema.GroupVersion]bool, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := schema.GroupVersionKind{Group: asked.Group, Version: step.Version, Kind: asked.Kind}
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	if len(asked.Reset) > 0 {
		set := fieldpath.NewSet()
		for _, field := range asked.Reset {
			set.Insert(fieldpath.MakePathOrDie(field))
		}
		reset[fieldpath.APIVersion(gvk.GroupVersion().String())] = fieldpath.NewExcludeSetFilter(set)
	}
	manager, err := managedfields.NewDefaultCRDFieldManager(types, versions{known}, nothing{}, nothing{}, gvk, gvk.GroupVersion(), step.Subresource, reset)
	if err != nil {
		return nil, err
	}
	created, _ := nothing{}.New(gvk)
	before := created.(*unstructured.Unstructured)
	if live != nil {
		before = live.DeepCopy()
		before.SetGroupVersionKind(gvk)
	}
	sent, err := object(step.Object)
	if err != nil {
		return nil, err
	}
	var after runtime.Object
	if step.How == "apply" {
		after, err = manager.Apply(before, sent, step.Manager, step.Force)
	} else {
		after = manager.UpdateNoErrors(before, sent, step.Manager)
	}
	if err != nil {
		return nil, err
	}
	return after.(*unstructured.Unstructured), nil
}
