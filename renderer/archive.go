package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"sigs.k8s.io/yaml"
)

// safeName is a name or version that can be a part of a file name.
var safeName = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._+-]*$`)

// unpack reads a chart's archive.
func unpack(data []byte, request *fetchRequest) (*fetched, error) {
	limit := request.MaxBytes
	if limit <= 0 || limit > maxInputBytes {
		limit = maxInputBytes
	}
	files, err := unpackFiles(data, limit)
	if err != nil {
		return nil, fmt.Errorf("cannot unpack the chart: %w", err)
	}
	folder, err := chartFolder(files)
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
	case layoutChart:
		result.Files = map[string][]byte{}
		for name, content := range files {
			if inside, ok := strings.CutPrefix(name, folder); ok {
				result.Files[inside] = content
			}
		}
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

// unpackFiles returns the files of an archive with their paths in the archive. The limit also bounds
// the content that is decompressed without being returned.
func unpackFiles(data []byte, limit int64) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	// A header has at least 512 bytes, and the content is padded to 512 bytes.
	entries := tar.NewReader(io.LimitReader(unzipped, limit+maxFiles*1024))
	files := map[string][]byte{}
	left := limit
	for count := 0; ; count++ {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the archive is damaged, or exceeds %d bytes: %w", limit, err)
		}
		if count >= maxFiles {
			return nil, fmt.Errorf("the archive has more than %d files", maxFiles)
		}
		switch header.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
		default:
			return nil, fmt.Errorf("%q is neither a file nor a folder", header.Name)
		}
		name, err := insidePath(header.Name)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(entries, left+1))
		if err != nil {
			return nil, err
		}
		if left -= int64(len(content)); left < 0 {
			return nil, fmt.Errorf("the files have more than %d bytes", limit)
		}
		files[name] = content
	}
}

// insidePath rejects paths that lead out of the archive.
func insidePath(name string) (string, error) {
	invalid := fmt.Errorf("the path %q leads out of the archive", name)
	if name == "" || strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\\x00:") {
		return "", invalid
	}
	for _, segment := range strings.Split(name, "/") {
		if segment == ".." {
			return "", invalid
		}
	}
	clean := path.Clean(name)
	if clean == "." {
		return "", invalid
	}
	return clean, nil
}

// chartFolder returns the folder of the chart with a final slash, or nothing for the archive's root.
func chartFolder(files map[string][]byte) (string, error) {
	if _, ok := files["Chart.yaml"]; ok {
		return "", nil
	}
	folders := map[string]bool{}
	for name := range files {
		if folder, file, _ := strings.Cut(name, "/"); file == "Chart.yaml" {
			folders[folder] = true
		}
	}
	if len(folders) != 1 {
		return "", errors.New("the archive must contain one chart with a Chart.yaml")
	}
	for folder := range folders {
		return folder + "/", nil
	}
	return "", nil
}
