//go:build !amd64

package integration

import "errors"

const hasInt80 = false

func int80Chmod(string, uintptr) error { return errors.ErrUnsupported }
