package tarball_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"path"
	"strings"
	"testing"

	"drover.dev/renderer/tarball"
)

const limit = 1 << 16

func packed(t interface{ Fatal(...any) }, headers ...tar.Header) []byte {
	var data bytes.Buffer
	zipped := gzip.NewWriter(&data)
	writer := tar.NewWriter(zipped)
	for _, header := range headers {
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write(bytes.Repeat([]byte("x"), int(header.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func file(name string, size int64) tar.Header {
	return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size}
}

// The fuzzer checks that files of an archive stay inside and below the limit. go test checks the seeds.
func FuzzUnpack(f *testing.F) {
	for _, headers := range [][]tar.Header{
		{file("web/Chart.yaml", 20), file("web/templates/a.yaml", 100)},
		{file("Chart.yaml", 5)},
		{file("../Chart.yaml", 5)},
		{file("/etc/passwd", 5)},
		{file("web\\..\\x", 5)},
		{file("web/large", limit), file("web/more", 1)},
		{{Name: "web/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		{{Name: "web", Typeflag: tar.TypeDir}, file("web/./a/../b", 1)},
	} {
		f.Add(packed(f, headers...))
	}
	f.Add([]byte{})
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		files, err := tarball.Unpack(data, limit)
		if err != nil {
			return
		}
		size := 0
		for name, content := range files {
			size += len(content)
			if name != path.Clean(name) || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
				t.Fatalf("the path %q leads out of the archive", name)
			}
		}
		if size > limit {
			t.Fatalf("the files have %d bytes", size)
		}
		folder, err := tarball.ChartFolder(files)
		if _, found := files[folder+"Chart.yaml"]; err == nil && !found {
			t.Fatalf("the folder %q has no Chart.yaml", folder)
		}
	})
}

func TestHostileArchivesAreRejected(t *testing.T) {
	for name, header := range map[string]tar.Header{
		"parent folder": file("web/../../x", 1),
		"absolute path": file("/x", 1),
		"large file":    file("web/x", limit+1),
		"symbolic link": {Name: "web/x", Typeflag: tar.TypeSymlink, Linkname: "y"},
		"device":        {Name: "web/x", Typeflag: tar.TypeChar},
	} {
		if _, err := tarball.Unpack(packed(t, header), limit); err == nil {
			t.Errorf("%s: the archive is accepted", name)
		}
	}
}
