package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sandbox-exec/sandbox-exec/schemas"
)

var resultSchema = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(schemas.Result, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
})

// validDocument decodes a document that is one line of JSON and validates it.
func validDocument(body []byte) (any, error) {
	if n := strings.Count(string(body), "\n"); n != 1 || body[len(body)-1] != '\n' {
		return nil, fmt.Errorf("the document has %d newlines, want one, at its end: %q", n, body)
	}
	schema, err := resultSchema()
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return nil, fmt.Errorf("%w in %q", err, body)
	}
	return value, schema.Validate(value)
}

// good is a document with every part filled in.
func good(t *testing.T) map[string]any {
	t.Helper()
	promises := make([]any, 14)
	for i := range promises {
		promises[i] = map[string]any{"promise": "files", "status": "enforced", "detail": "Landlock ABI 7"}
	}
	return map[string]any{
		"version": 1.0, "mode": "read-only", "workspace": "/w", "workdir": "/w", "command": "x", "argv": []any{"bash", "-c", "x"},
		"exitStatus": 1.0, "durationMs": 3.0, "leftover": 0.0, "timeoutMs": 1000.0, "denied": true,
		"exit":   map[string]any{"code": 1.0, "signal": "", "timedOut": false, "aborted": false},
		"report": map[string]any{"mode": "read-only", "enforcement": "partial", "landlock": "ABI 7", "promises": promises},
		"denials": []any{map[string]any{
			"kind": "file", "op": "write", "path": "/x", "verdict": "denied", "evidence": "text", "line": "l", "rule": "r",
		}},
		"limits": []any{map[string]any{"kind": "memory", "value": 50331648.0}},
		"usage": map[string]any{
			"userMs": 1.5, "systemMs": 0.0, "scope": "group", "throttledMs": 2.0, "maxRssBytes": 8192.0, "peakMemoryBytes": 4096.0, "peakProcesses": 3.0,
		},
		"stdout": map[string]any{"bytes": 0.0}, "stderr": map[string]any{"bytes": 40.0},
		"scrubbed": []any{"API_KEY"}, "warnings": []any{"w"},
	}
}

func TestSchemaRejectsBrokenDocuments(t *testing.T) {
	schema, err := resultSchema()
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(good(t)); err != nil {
		t.Fatalf("the document that the broken ones come from: %v", err)
	}
	denial := func(d map[string]any) map[string]any { return d["denials"].([]any)[0].(map[string]any) }
	tests := map[string]func(map[string]any){
		"unknown key":             func(d map[string]any) { d["colour"] = "red" },
		"unknown version":         func(d map[string]any) { d["version"] = 2.0 },
		"missing mode":            func(d map[string]any) { delete(d, "mode") },
		"unknown mode":            func(d map[string]any) { d["mode"] = "yolo" },
		"fractional duration":     func(d map[string]any) { d["durationMs"] = 1.5 },
		"status over 255":         func(d map[string]any) { d["exitStatus"] = 256.0 },
		"list that is null":       func(d map[string]any) { d["denials"] = nil },
		"relative denied path":    func(d map[string]any) { denial(d)["path"] = "x" },
		"unknown operation":       func(d map[string]any) { denial(d)["op"] = "frobnicate" },
		"unknown key in a denial": func(d map[string]any) { denial(d)["colour"] = "red" },
		"a scrubbed value":        func(d map[string]any) { d["scrubbed"] = []any{"API_KEY=x"} },
		"exit number for signal":  func(d map[string]any) { d["exit"].(map[string]any)["signal"] = "9" },
		"a promise short":         func(d map[string]any) { d["report"].(map[string]any)["promises"] = []any{} },
		"ran without a report":    func(d map[string]any) { delete(d, "report") },
		"ran and failed to run":   func(d map[string]any) { d["error"] = map[string]any{"stage": "x", "detail": "y"} },
		"ran without usage":       func(d map[string]any) { delete(d, "usage") },
		"unknown limit":           func(d map[string]any) { d["limits"].([]any)[0].(map[string]any)["kind"] = "luck" },
		"limit without a value":   func(d map[string]any) { delete(d["limits"].([]any)[0].(map[string]any), "value") },
		"usage of nobody":         func(d map[string]any) { d["usage"].(map[string]any)["scope"] = "me" },
		"did not run, no reason":  func(d map[string]any) { d["exit"] = nil },
		"did not run, status 0": func(d map[string]any) {
			d["exit"], d["exitStatus"], d["denied"], d["denials"], d["limits"] = nil, 0.0, false, []any{}, []any{}
			delete(d, "usage")
			d["error"] = map[string]any{"stage": "x", "detail": "y"}
		},
	}
	for name, breakIt := range tests {
		t.Run(name, func(t *testing.T) {
			d := good(t)
			breakIt(d)
			if schema.Validate(d) == nil {
				t.Error("the schema takes it")
			}
		})
	}
}

// Every script that has a document written has it validated.
func TestScriptsValidateTheirDocuments(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("found %d scripts: %v", len(scripts), err)
	}
	writers := 0
	for _, script := range scripts {
		body, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(body), " --json ") {
			continue
		}
		writers++
		if !strings.Contains(string(body), "\ndocument ") {
			t.Errorf("%s writes a document and never validates one", script)
		}
	}
	if writers == 0 {
		t.Error("no script writes a document")
	}
}
