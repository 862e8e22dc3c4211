// Package tarball reads archives of charts (tar with gzip).
package tarball

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// MaxFiles limits the files of an archive.
const MaxFiles = 20_000

// Unpack returns the files of an archive with their paths in the archive. The limit also bounds
// the content that is decompressed without being returned.
func Unpack(data []byte, limit int64) (map[string][]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	// A header has at least 512 bytes, and the content is padded to 512 bytes.
	entries := tar.NewReader(io.LimitReader(unzipped, limit+MaxFiles*1024))
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
		if count >= MaxFiles {
			return nil, fmt.Errorf("the archive has more than %d files", MaxFiles)
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

// ChartFolder returns the folder of the chart with a final slash, or nothing for the archive's root.
func ChartFolder(files map[string][]byte) (string, error) {
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
