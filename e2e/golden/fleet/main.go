// Program golden writes the results of Fleet's code for the inputs of Drover's golden tests.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rancher/fleet/internal/cmd/cli/apply"
	"github.com/rancher/fleet/internal/cmd/controller/options"
	"github.com/rancher/fleet/internal/cmd/controller/status"
	"github.com/rancher/fleet/internal/cmd/controller/summary"
	"github.com/rancher/fleet/internal/manifest"
	"github.com/rancher/fleet/internal/names"
	"github.com/rancher/fleet/internal/registration"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	_ "github.com/rancher/fleet/pkg/generated/controllers/fleet.cattle.io/v1alpha1"
	"github.com/rancher/fleet/pkg/helmvalues"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func read(root, name string, into any) {
	data, err := os.ReadFile(filepath.Join(root, "inputs", name))
	check(err)
	check(json.Unmarshal(data, into))
}

func write(root, name string, value any) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(value))
	check(os.WriteFile(filepath.Join(root, "expected", name), buffer.Bytes(), 0o644))
}

func main() {
	root, err := filepath.Abs(os.Args[1])
	check(err)
	ids(root)
	derivedNames(root)
	merges(root)
	selectors(root)
	limits(root)
	rollouts(root)
	states(root)
	targets(root, "targets.json")
	targets(root, "values.json")
	repositories(root)
}

// ids hashes options, and their values.
func ids(root string) {
	var cases []fleet.BundleDeploymentOptions
	read(root, "options.json", &cases)
	result := []any{}
	for _, opts := range cases {
		id, err := options.DeploymentID("s-content", opts)
		check(err)
		text, err := json.Marshal(opts)
		check(err)
		bd := &fleet.BundleDeployment{}
		bd.Spec.Options = opts
		hash, _, _, err := helmvalues.ExtractOptions(bd)
		check(err)
		result = append(result, map[string]any{"id": id, "json": string(text), "valuesHash": hash})
	}
	write(root, "options.json", result)
}

func derivedNames(root string) {
	var cases []string
	read(root, "names.json", &cases)
	result := []any{}
	for _, text := range cases {
		result = append(result, map[string]any{
			"release":   names.HelmReleaseName(filepath.Join("repo", text)),
			"limit":     names.Limit(text, 20),
			"concat":    names.SafeConcatName("a", text, "b"),
			"keyHash":   names.KeyHash(text),
			"secret":    registration.SecretName(text, "random"),
			"namespace": names.SafeConcatName("cluster", "ns", text, names.KeyHash("ns::"+text)),
		})
	}
	write(root, "names.json", result)
}

func merges(root string) {
	var cases []struct{ Base, Custom fleet.BundleDeploymentOptions }
	read(root, "merges.json", &cases)
	result := []any{}
	for _, it := range cases {
		result = append(result, options.Merge(it.Base, it.Custom))
	}
	write(root, "merges.json", result)
}

func selectors(root string) {
	var cases struct {
		Selectors []metav1.LabelSelector
		Labels    []map[string]string
	}
	read(root, "selectors.json", &cases)
	result := []any{}
	for _, it := range cases.Selectors {
		selector, err := metav1.LabelSelectorAsSelector(&it)
		if err != nil {
			result = append(result, "error")
			continue
		}
		matches := []bool{}
		for _, set := range cases.Labels {
			matches = append(matches, selector.Matches(labels.Set(set)))
		}
		result = append(result, matches)
	}
	write(root, "selectors.json", result)
}

func states(root string) {
	var cases [][]fleet.BundleDeployment
	read(root, "states.json", &cases)
	result := []any{}
	for _, items := range cases {
		var each []string
		for i := range items {
			each = append(each, string(summary.GetDeploymentState(&items[i])))
		}
		base := fleet.StatusBase{}
		check(status.SetFields(&fleet.BundleDeploymentList{Items: items}, &base))
		result = append(result, map[string]any{
			"states":  each,
			"status":  base,
			"message": summary.ReadyMessage(base.Summary, "Bundle"),
		})
	}
	write(root, "states.json", result)
}

// repositories reads the bundles of each sample repository.
func repositories(root string) {
	entries, err := os.ReadDir(filepath.Join(root, "repositories"))
	check(err)
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		repo := fleet.GitRepo{}
		data, err := os.ReadFile(filepath.Join(root, "repositories", entry.Name()+".json"))
		check(err)
		check(json.Unmarshal(data, &repo))
		write(root, "bundles-"+entry.Name()+".json", bundles(filepath.Join(root, "repositories", entry.Name()), &repo))
	}
}

func bundles(folder string, repo *fleet.GitRepo) any {
	check(os.Chdir(folder))
	spec := &fleet.BundleSpec{}
	targets := repo.Spec.Targets
	if len(targets) == 0 {
		targets = []fleet.GitTarget{{Name: "default", ClusterGroup: "default"}}
	}
	for _, target := range targets {
		spec.Targets = append(spec.Targets, fleet.BundleTarget{
			Name: target.Name, ClusterName: target.ClusterName, ClusterSelector: target.ClusterSelector,
			ClusterGroup: target.ClusterGroup, ClusterGroupSelector: target.ClusterGroupSelector,
		})
		spec.TargetRestrictions = append(spec.TargetRestrictions, fleet.BundleTargetRestriction(target))
	}
	data, err := json.Marshal(spec)
	check(err)
	file, err := os.CreateTemp("", "targets")
	check(err)
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	check(err)
	var output bytes.Buffer
	opts := apply.Options{
		Namespace:                    repo.Namespace,
		TargetsFile:                  file.Name(),
		Output:                       &output,
		Labels:                       labels.Merge(repo.Labels, map[string]string{fleet.RepoLabel: repo.Name}),
		ServiceAccount:               repo.Spec.ServiceAccount,
		TargetNamespace:              repo.Spec.TargetNamespace,
		Paused:                       repo.Spec.Paused,
		SyncGeneration:               repo.Spec.ForceSyncGeneration,
		KeepResources:                repo.Spec.KeepResources,
		DeleteNamespace:              repo.Spec.DeleteNamespace,
		ImagescanEnabled:             true,
		BundleCreationMaxConcurrency: 1,
	}
	if drift := repo.Spec.CorrectDrift; drift != nil {
		opts.CorrectDrift, opts.CorrectDriftForce, opts.CorrectDriftKeepFailHistory = drift.Enabled, drift.Force, drift.KeepFailHistory
	}
	if len(repo.Spec.Bundles) > 0 {
		opts.DrivenScan = true
		opts.DrivenScanSeparator = ":"
		var paths []string
		for _, bundle := range repo.Spec.Bundles {
			path := bundle.Base
			if bundle.Options != "" {
				path += ":" + bundle.Options
			}
			paths = append(paths, path)
		}
		err = apply.CreateBundlesDriven(context.Background(), nil, nil, repo.Name, paths, opts)
	} else {
		err = apply.CreateBundles(context.Background(), nil, nil, repo.Name, repo.Spec.Paths, opts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, folder, err)
		return "error"
	}
	result := []fleet.Bundle{}
	for _, document := range strings.Split("\n"+output.String(), "\napiVersion: ")[1:] {
		bundle := fleet.Bundle{}
		check(yaml.Unmarshal([]byte(strings.TrimSuffix("apiVersion: "+document, "\n---")), &bundle))
		if bundle.Kind == "Bundle" {
			result = append(result, bundle)
		}
	}
	sort.Slice(result, func(i, j int) bool { return result[i].Name < result[j].Name })
	list := []any{}
	for _, bundle := range result {
		id, err := manifest.New(bundle.Spec.Resources).ID()
		check(err)
		hash, _, err := helmvalues.ExtractValues(&bundle)
		check(err)
		list = append(list, map[string]any{
			"name": bundle.Name, "labels": bundle.Labels, "annotations": bundle.Annotations,
			"spec": bundle.Spec, "contentID": id, "valuesHash": hash,
		})
	}
	return list
}
