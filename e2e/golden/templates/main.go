// Renders templates with Go's text/template and sprig, and writes the results as golden files.
//
// Usage: templates CASES_FOLDER OUTPUT_FOLDER
//
// Each file *.txt in CASES_FOLDER contains one template per line. A line that starts with a double
// quote is a Go string literal. Empty lines and lines that start with "//" are ignored. The file
// data.json contains the data of all templates.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// result is one golden case. Output is nil if Go reports an error.
type result struct {
	Template string  `json:"template"`
	Left     string  `json:"left"`
	Right    string  `json:"right"`
	Output   *string `json:"output"`
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(cases, output string) error {
	time.Local = time.UTC
	files, err := filepath.Glob(filepath.Join(cases, "*.txt"))
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(cases, "data.json"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(output, "data.json"), data, 0o644); err != nil {
		return err
	}
	for _, file := range files {
		results, err := renderFile(file, data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(results); err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt") + ".json"
		if err := os.WriteFile(filepath.Join(output, name), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func renderFile(file string, data []byte) ([]result, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	left, right := "{{", "}}"
	if strings.HasPrefix(filepath.Base(file), "fleet") {
		left, right = "${", "}"
	}
	var results []result
	for number, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		if strings.HasPrefix(line, "\"") {
			if line, err = strconv.Unquote(line); err != nil {
				return nil, fmt.Errorf("line %d: %w", number+1, err)
			}
		}
		for _, text := range split(line, left, right) {
			results = append(results, result{text, left, right, render(text, left, right, data)})
		}
	}
	return results, nil
}

// split returns the actions of a line as separate templates, so that an error of one action does
// not hide the results of the other actions. Lines with variables or blocks stay complete.
func split(line, left, right string) []string {
	for _, word := range []string{"$", "end", "define", "template", "\n", "/*"} {
		if strings.Contains(line, left+word) || strings.Contains(line, left+" "+word) {
			return []string{line}
		}
	}
	joined := strings.ReplaceAll(line, right+"|"+left, right+" "+left)
	parts := strings.Split(joined, right+" "+left)
	for at := range parts {
		if at > 0 {
			parts[at] = left + parts[at]
		}
		if at < len(parts)-1 {
			parts[at] += right
		}
	}
	return parts
}

// render returns nil if Go cannot parse or execute the template, or if the output is not UTF-8.
func render(text, left, right string, data []byte) *string {
	functions := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "include", "tpl"} {
		delete(functions, name)
	}
	var decoded map[string]any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return nil
	}
	parsed, err := template.New("values").Funcs(functions).Option("missingkey=error").
		Delims(left, right).Parse(text)
	if err != nil {
		return nil
	}
	var output bytes.Buffer
	if err := parsed.Execute(&output, decoded); err != nil {
		return nil
	}
	rendered := output.String()
	if strings.ToValidUTF8(rendered, "") != rendered {
		return nil
	}
	return &rendered
}
