// Program drover-render renders Helm charts and Kustomize folders for Drover's cluster agent.
//
// The agent starts the program on demand, and sends requests to standard input. The program answers
// on standard output, one request after the other, and ends at the end of the input. A frame is a
// length (4 bytes, big endian) and a JSON document. The program starts no other program, loads no
// plugins, and reads no configuration of Helm.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"
)

const (
	defaultTimeout     = 60 * time.Second
	defaultMemoryBytes = 256 << 20
	exitTimeout        = 3
)

func main() {
	memory := flag.Int64("memory-bytes", defaultMemoryBytes, "soft memory limit of the Go runtime")
	flag.Parse()
	debug.SetMemoryLimit(*memory)
	// Without the variable, libraries find no programs: Kustomize would start git.
	if err := os.Unsetenv("PATH"); err != nil {
		fmt.Fprintln(os.Stderr, "drover-render:", err)
		os.Exit(1)
	}
	// Libraries must not write to standard output or repeat secret values in logs.
	slog.SetDefault(slog.New(slog.DiscardHandler))

	if err := serve(newConnection(os.Stdin, os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "drover-render:", err)
		os.Exit(1)
	}
}

// serve answers requests until the end of the input.
func serve(conn *connection) error {
	for {
		var request request
		if err := conn.read(&request); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := conn.write(answer(conn, request)); err != nil {
			return err
		}
	}
}

// answer performs one request within its timeout.
//
// A template cannot be interrupted. After the timeout, the program therefore answers and exits, and
// the agent starts a new process for the next request.
func answer(conn *connection, request request) response {
	timeout := defaultTimeout
	if request.TimeoutMs > 0 {
		timeout = time.Duration(request.TimeoutMs) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()

	answered := make(chan response, 1)
	go func() { answered <- perform(ctx, conn, request) }()
	select {
	case response := <-answered:
		return response
	case <-ctx.Done():
		message := fmt.Sprintf("cannot finish the request within %s", timeout)
		_ = conn.write(response{ID: request.ID, Error: message, Exiting: true})
		os.Exit(exitTimeout)
		return response{}
	}
}

func perform(ctx context.Context, conn *connection, request request) (result response) {
	result.ID = request.ID
	defer func() {
		if reason := recover(); reason != nil {
			result = response{ID: request.ID, Error: fmt.Sprintf("cannot render: %v", reason)}
		}
	}()
	var err error
	switch {
	case request.Render != nil:
		result.Rendered, err = render(ctx, conn, request.Render)
	case request.Fetch != nil:
		result.Fetched, err = fetch(ctx, request.Fetch)
	case request.Patch != nil:
		result.Patched, err = applyPatch(request.Patch)
	default:
		err = errors.New("the request has no operation")
	}
	if err != nil {
		result.Error = err.Error()
		result.Permanent = isPermanent(err)
	}
	return result
}
