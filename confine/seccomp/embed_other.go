//go:build !amd64 && !arm64

package seccomp

// No programs: asking for one is an error.
const nativePrograms, nativeTexts = "", ""
