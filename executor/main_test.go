package executor

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/sandbox-exec/sandbox-exec/confine"
)

func TestMain(m *testing.M) {
	confine.RunHelper()
	goleak.VerifyTestMain(m)
}
