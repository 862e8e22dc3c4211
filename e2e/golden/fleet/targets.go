package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/rancher/fleet/internal/cmd/controller/target"
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func limits(root string) {
	var cases []struct {
		Count int
		Value *intstr.IntOrString
	}
	read(root, "limits.json", &cases)
	result := []any{}
	for _, it := range cases {
		value, err := target.GoldenLimit(it.Count, it.Value)
		if err != nil {
			result = append(result, "error")
			continue
		}
		result = append(result, value)
	}
	write(root, "limits.json", result)
}

// rollouts partitions targets and takes one step.
func rollouts(root string) {
	var cases []struct {
		Strategy *fleet.RolloutStrategy
		Count    int
		// States of clusters, repeated: "none", "old", "broken", "new" or "updating".
		States []string
	}
	read(root, "rollouts.json", &cases)
	result := []any{}
	for _, it := range cases {
		bundle := &fleet.Bundle{}
		bundle.Name = "bundle"
		bundle.Spec.RolloutStrategy = it.Strategy
		var all []*target.Target
		for i := 0; i < it.Count; i++ {
			cluster := &fleet.Cluster{}
			cluster.Name = fmt.Sprintf("c%04d", i)
			cluster.Namespace = "ns"
			cluster.Labels = map[string]string{"half": fmt.Sprint(i % 2)}
			all = append(all, &target.Target{
				Bundle: bundle, Cluster: cluster, DeploymentID: "new",
				Deployment: deployment(it.States[i%len(it.States)]),
			})
		}
		status := fleet.BundleStatus{}
		status.Unavailable = target.Unavailable(all)
		var err error
		status.MaxUnavailable, err = target.MaxUnavailable(all)
		if err == nil {
			err = target.UpdatePartitions(&status, all)
		}
		if err != nil {
			result = append(result, "error")
			continue
		}
		ids := []string{}
		for _, each := range all {
			if each.Deployment == nil {
				ids = append(ids, "-")
				continue
			}
			ids = append(ids, each.Deployment.Spec.StagedDeploymentID+"/"+each.Deployment.Spec.DeploymentID)
		}
		parts := []any{}
		for _, part := range status.PartitionStatus {
			parts = append(parts, []any{part.Name, part.Count, part.MaxUnavailable})
		}
		result = append(result, map[string]any{
			"ids": strings.Join(ids, " "), "partitions": parts, "unavailable": status.Unavailable,
			"maxUnavailable": status.MaxUnavailable, "newlyCreated": status.NewlyCreated,
			"unavailablePartitions":    status.UnavailablePartitions,
			"maxUnavailablePartitions": status.MaxUnavailablePartitions,
		})
	}
	write(root, "rollouts.json", result)
}

func deployment(state string) *fleet.BundleDeployment {
	if state == "none" {
		return nil
	}
	id, applied, ready := "old", "old", true
	switch state {
	case "broken":
		ready = false
	case "new":
		id, applied = "new", "new"
	case "updating":
		id = "new"
	}
	bd := &fleet.BundleDeployment{}
	bd.Spec.StagedDeploymentID, bd.Spec.DeploymentID = id, id
	bd.Status.AppliedDeploymentID, bd.Status.Ready = applied, ready
	return bd
}

// targets computes the targets of each bundle with the real manager and a fake hub.
func targets(root, file string) {
	var cases struct {
		Clusters []struct {
			Name           string
			Labels         map[string]string
			Annotations    map[string]string
			TemplateValues *fleet.GenericMap
		}
		Groups []struct {
			Name     string
			Labels   map[string]string
			Selector *metav1.LabelSelector
		}
		Bundles []fleet.Bundle
	}
	read(root, file, &cases)
	scheme := runtime.NewScheme()
	check(clientgoscheme.AddToScheme(scheme))
	check(fleet.AddToScheme(scheme))
	var objects []client.Object
	for _, it := range cases.Clusters {
		cluster := &fleet.Cluster{}
		cluster.Name, cluster.Namespace = it.Name, "ns"
		cluster.Labels, cluster.Annotations = it.Labels, it.Annotations
		cluster.Spec.TemplateValues = it.TemplateValues
		cluster.Status.Namespace = "cluster-" + it.Name
		objects = append(objects, cluster)
	}
	for _, it := range cases.Groups {
		group := &fleet.ClusterGroup{}
		group.Name, group.Namespace, group.Labels = it.Name, "ns", it.Labels
		group.Spec.Selector = it.Selector
		objects = append(objects, group)
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	manager := target.New(hub, hub)
	result := []any{}
	for i := range cases.Bundles {
		bundle := &cases.Bundles[i]
		bundle.Namespace = "ns"
		found, _, err := manager.Targets(context.Background(), bundle, "s-content")
		if err != nil {
			result = append(result, "error")
			continue
		}
		clusters := map[string]any{}
		for _, it := range found {
			clusters[it.Cluster.Name] = map[string]any{"options": it.Options, "id": it.DeploymentID}
		}
		result = append(result, clusters)
	}
	write(root, file, result)
}
