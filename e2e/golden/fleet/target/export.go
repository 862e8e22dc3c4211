// Package target: functions for the golden files. The script e2e/golden/generate copies this file into
// Fleet's package.
package target

import (
	fleet "github.com/rancher/fleet/pkg/apis/fleet.cattle.io/v1alpha1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// GoldenPartitions returns the partitions of targets.
func GoldenPartitions(targets []*Target) ([]fleet.PartitionStatus, error) {
	parts, err := partitions(targets)
	if err != nil {
		return nil, err
	}
	var result []fleet.PartitionStatus
	for _, part := range parts {
		result = append(result, part.Status)
	}
	return result, nil
}

// GoldenLimit returns a limit.
func GoldenLimit(count int, value *intstr.IntOrString) (int, error) {
	return limit(count, value)
}
