// The reference of the differential tests: runs cases with the Go libraries of kube-apiserver. It
// reads one JSON case per line, and writes one JSON answer per line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// A case contains the name of its type; the other fields depend on the type.
type header struct {
	Ask string `json:"ask"`
}

// An answer is a result, or the message of an error.
type answer struct {
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

var answerers = map[string]func([]byte) (any, error){
	"owners":         owners,
	"scale":          scaleManagers,
	"fields":         fieldSets,
	"strategic":      strategic,
	"json-patch":     jsonPatch,
	"operations":     operationFields,
	"merge-patch":    mergePatch,
	"labels":         labelSelector,
	"labels-object":  labelSelectorObject,
	"field-selector": fieldSelector,
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			encoded, err := json.Marshal(respond(line))
			if err != nil {
				encoded = []byte(`{"error":"cannot encode the answer"}`)
			}
			out.Write(encoded)
			out.WriteByte('\n')
			// Flush, so that the test does not wait for a full batch.
			if in.Buffered() == 0 {
				out.Flush()
			}
		}
		if err != nil {
			return
		}
	}
}

// respond runs one case. kube-apiserver would respond to a panic with 500.
func respond(line []byte) (result answer) {
	defer func() {
		if reason := recover(); reason != nil {
			result = answer{Error: fmt.Sprintf("panic: %v", reason)}
		}
	}()
	var asked header
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: "case: " + err.Error()}
	}
	ask, known := answerers[asked.Ask]
	if !known {
		return answer{Error: "case: nothing answers " + asked.Ask}
	}
	value, err := ask(line)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Result: value}
}
