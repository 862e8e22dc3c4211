// Writes the schemas of Fleet's kinds, without descriptions, into JSON files.
//
// The argument is the folder of the files. Fleet's definitions come from the Go module of Fleet, which
// go.mod selects. The server installs these files, so the hub has the same API as a hub of Fleet.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: generate FOLDER")
	}
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/rancher/fleet").Output()
	if err != nil {
		log.Fatalf("cannot find the module of Fleet: %v", err)
	}
	file := filepath.Join(strings.TrimSpace(string(module)), "charts/fleet-crd/templates/crds.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var definition map[string]any
		if err := yaml.Unmarshal(document, &definition); err != nil {
			log.Fatalf("cannot parse a definition: %v", err)
		}
		write(definition, os.Args[1])
	}
}

func write(definition map[string]any, folder string) {
	metadata := definition["metadata"].(map[string]any)
	delete(metadata, "annotations")
	versions := definition["spec"].(map[string]any)["versions"].([]any)
	for _, version := range versions {
		removeDescriptions(version.(map[string]any)["schema"])
	}
	name := definition["spec"].(map[string]any)["names"].(map[string]any)["plural"].(string)
	text, err := json.MarshalIndent(definition, "", " ")
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(folder, name+".json")
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Println(path)
}

// removeDescriptions removes the texts of a schema. A field can have the name "description", and its
// value is then a schema and not a text.
func removeDescriptions(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, isText := value["description"].(string); isText {
			delete(value, "description")
		}
		for _, field := range value {
			removeDescriptions(field)
		}
	case []any:
		for _, item := range value {
			removeDescriptions(item)
		}
	}
}
