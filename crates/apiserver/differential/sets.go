package main

import (
	"encoding/json"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// refused converts an error to the answer of a step, with the causes of a conflict.
func refused(err error) stepAnswer {
	answer := stepAnswer{Error: err.Error()}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			answer.Causes = append(answer.Causes, string(cause.Type)+" "+cause.Field+" "+cause.Message)
		}
	}
	return answer
}

// fieldSets parses two sets, and returns their serialized form and the results of set operations.
func fieldSets(line []byte) (any, error) {
	var asked struct {
		Left  string `json:"left"`
		Right string `json:"right"`
	}
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	left, right := &fieldpath.Set{}, &fieldpath.Set{}
	if err := left.FromJSON(strings.NewReader(asked.Left)); err != nil {
		return nil, err
	}
	if err := right.FromJSON(strings.NewReader(asked.Right)); err != nil {
		return nil, err
	}
	answer := map[string]string{}
	for name, set := range map[string]*fieldpath.Set{
		"left":                left,
		"union":               left.Union(right),
		"intersection":        left.Intersection(right),
		"difference":          left.Difference(right),
		"recursiveDifference": left.RecursiveDifference(right),
	} {
		text, err := set.ToJSON()
		if err != nil {
			return nil, err
		}
		answer[name] = string(text)
	}
	answer["paths"] = left.String()
	return answer, nil
}
