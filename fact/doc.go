// Package fact holds what a run reports: how it ended, what was denied, and
// what was enforced. Values only; nothing here decides or acts.
package fact
