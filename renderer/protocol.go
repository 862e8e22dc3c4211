package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxFrameBytes limits a frame. Files are base64, so that a frame is larger than a chart.
const maxFrameBytes = 192 << 20

type request struct {
	ID        uint64         `json:"id"`
	TimeoutMs int64          `json:"timeoutMs"`
	Render    *renderRequest `json:"render"`
	Fetch     *fetchRequest  `json:"fetch"`
	Patch     *patchRequest  `json:"patch"`
}

type response struct {
	ID    uint64 `json:"id"`
	Error string `json:"error,omitempty"`
	// Permanent is true if another attempt has the same result until somebody changes the chart, the
	// repository or the request.
	Permanent bool `json:"permanent,omitempty"`
	// Exiting is true if the process ends after the response.
	Exiting  bool            `json:"exiting,omitempty"`
	Rendered *results        `json:"rendered,omitempty"`
	Fetched  *fetched        `json:"fetched,omitempty"`
	Patched  json.RawMessage `json:"patched,omitempty"`
	Lookup   *lookup         `json:"lookup,omitempty"`
}

// renderRequest describes one rendering. Paths of files are relative to the root of the bundle.
type renderRequest struct {
	Files map[string][]byte `json:"files"`
	// Chart is the folder of the chart. Nil: there is no chart.
	Chart *string `json:"chart"`
	// Kustomize is the folder of the kustomization. Nil: Kustomize does not run.
	Kustomize            *string           `json:"kustomize"`
	Values               map[string]any    `json:"values"`
	ReleaseName          string            `json:"releaseName"`
	Namespace            string            `json:"namespace"`
	Revision             int               `json:"revision"`
	IsUpgrade            bool              `json:"isUpgrade"`
	KubeVersion          string            `json:"kubeVersion"`
	APIVersions          []string          `json:"apiVersions"`
	EnableDNS            bool              `json:"enableDns"`
	SkipSchemaValidation bool              `json:"skipSchemaValidation"`
	ChartAnnotations     map[string]string `json:"chartAnnotations"`
}

type results struct {
	Manifests []manifest `json:"manifests"`
	Hooks     []hook     `json:"hooks"`
	// CRDs are the objects of the chart's crds folders.
	CRDs  []manifest `json:"crds"`
	Notes string     `json:"notes,omitempty"`
	// Chart is the chart in the format of Helm's release records, without the files of its
	// subcharts' archives.
	Chart json.RawMessage `json:"chart,omitempty"`
	// UsedLookup is true if the result depends on objects in the cluster.
	UsedLookup bool `json:"usedLookup,omitempty"`
}

type manifest struct {
	Path   string          `json:"path"`
	Object json.RawMessage `json:"object"`
}

type hook struct {
	manifest
	Name              string   `json:"name"`
	Kind              string   `json:"kind"`
	Events            []string `json:"events"`
	Weight            int      `json:"weight"`
	DeletePolicies    []string `json:"deletePolicies"`
	OutputLogPolicies []string `json:"outputLogPolicies"`
}

// lookup asks the agent for an object, or for a list if the name is empty.
type lookup struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// found is the agent's answer. A missing object is an empty map.
type found struct {
	Object map[string]any `json:"object"`
	Error  string         `json:"error"`
}

// connection reads and writes frames.
type connection struct {
	reader *bufio.Reader
	lock   sync.Mutex
	writer io.Writer
}

func newConnection(reader io.Reader, writer io.Writer) *connection {
	return &connection{reader: bufio.NewReaderSize(reader, 1<<16), writer: writer}
}

func (c *connection) read(into any) error {
	var length uint32
	if err := binary.Read(c.reader, binary.BigEndian, &length); err != nil {
		return err
	}
	if length > maxFrameBytes {
		return fmt.Errorf("a frame of %d bytes exceeds the limit", length)
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(c.reader, data); err != nil {
		return fmt.Errorf("cannot read a frame: %w", err)
	}
	return json.Unmarshal(data, into)
}

func (c *connection) write(value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(data) > maxFrameBytes {
		return errors.New("the result exceeds the limit of a frame")
	}
	framed := binary.BigEndian.AppendUint32(make([]byte, 0, len(data)+4), uint32(len(data)))
	c.lock.Lock()
	defer c.lock.Unlock()
	_, err = c.writer.Write(append(framed, data...))
	return err
}

// ask sends a lookup to the agent and waits for the answer.
func (c *connection) ask(question lookup) (map[string]any, error) {
	if err := c.write(response{Lookup: &question}); err != nil {
		return nil, err
	}
	var answer found
	if err := c.read(&answer); err != nil {
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	if answer.Object == nil {
		return map[string]any{}, nil
	}
	return answer.Object, nil
}
