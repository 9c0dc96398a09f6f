// Package schemas holds the JSON Schemas of what this project writes.
//
// It validates nothing: any validator for draft 2020-12 does.
package schemas

import _ "embed"

// Result is the schema of the document that "sandbox-exec run --json" writes.
//
//go:embed result.schema.json
var Result []byte
