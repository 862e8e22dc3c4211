package main

import (
	"fmt"
	"regexp"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"

	"drover.dev/renderer/tarball"
)

// safeName is a name or version that can be a part of a file name.
var safeName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._+-]*$`)

// unpack reads a chart's archive.
func unpack(data []byte, request *fetchRequest) (*fetched, error) {
	files, err := tarball.Unpack(data, request.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("cannot unpack the chart: %w", err)
	}
	folder, err := tarball.ChartFolder(files)
	if err != nil {
		return nil, err
	}
	var metadata chart.Metadata
	if err := yaml.Unmarshal(files[folder+"Chart.yaml"], &metadata); err != nil {
		return nil, fmt.Errorf("cannot read Chart.yaml: %w", err)
	}
	if !safeName.MatchString(metadata.Name) || !safeName.MatchString(metadata.Version) {
		return nil, fmt.Errorf(
			"Chart.yaml has an invalid name or version: %q, %q", metadata.Name, metadata.Version)
	}
	result := &fetched{Name: metadata.Name, Version: metadata.Version}
	switch request.Layout {
	case layoutArchive:
		result.Files = files
	case layoutPacked:
		name := fmt.Sprintf("%s-%s.tgz", metadata.Name, metadata.Version)
		result.Files = map[string][]byte{name: data}
	default:
		return nil, fmt.Errorf("the layout %q is unknown", request.Layout)
	}
	return result, nil
}
