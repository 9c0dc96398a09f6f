// Package tool is the model-facing side: every string that a model sees lives
// here, and nowhere else.
//
// So far it has the marker lines of a finished run. It runs nothing.
package tool
