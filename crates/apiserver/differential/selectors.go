package main

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

type selectorCase struct {
	Selector string                `json:"selector"`
	Object   *metav1.LabelSelector `json:"object"`
	Sets     []map[string]string   `json:"sets"`
}

type selectorAnswer struct {
	Text    string `json:"text"`
	Matches []bool `json:"matches"`
}

func labelSelector(line []byte) (any, error) {
	var asked selectorCase
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	selector, err := labels.Parse(asked.Selector)
	if err != nil {
		return nil, err
	}
	return matched(selector, asked.Sets), nil
}

func labelSelectorObject(line []byte) (any, error) {
	var asked selectorCase
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(asked.Object)
	if err != nil {
		return nil, err
	}
	return matched(selector, asked.Sets), nil
}

func matched(selector labels.Selector, sets []map[string]string) selectorAnswer {
	answer := selectorAnswer{Text: selector.String(), Matches: []bool{}}
	for _, set := range sets {
		answer.Matches = append(answer.Matches, selector.Matches(labels.Set(set)))
	}
	return answer
}

func fieldSelector(line []byte) (any, error) {
	var asked selectorCase
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	selector, err := fields.ParseSelector(asked.Selector)
	if err != nil {
		return nil, err
	}
	answer := selectorAnswer{Text: selector.String(), Matches: []bool{}}
	for _, set := range asked.Sets {
		answer.Matches = append(answer.Matches, selector.Matches(fields.Set(set)))
	}
	return answer, nil
}
