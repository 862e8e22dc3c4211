// The differential reference: answers cases with the Go libraries that kube-apiserver itself is
// built on. Reads one JSON case a line, writes one JSON answer a line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// A case names what is asked for; the rest is the asked one's own.
type header struct {
	Ask string `json:"ask"`
}

// An answer is a result, or the error's text.
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
				encoded = []byte(`{"error":"answer cannot be encoded"}`)
			}
			out.Write(encoded)
			out.WriteByte('\n')
			// Nobody waits for a batch to fill.
			if in.Buffered() == 0 {
				out.Flush()
			}
		}
		if err != nil {
			return
		}
	}
}

// respond answers one case; a panic is what kube-apiserver would answer with 500.
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
