package executor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// sweep removes the scratch directories whose owner is known to be dead. What
// cannot be removed is tried again by the next executor.
func (s state) sweep() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	self, err := keeper.NewName()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		rest, ours := strings.CutPrefix(entry.Name(), scratchPrefix)
		name, valid := keeper.ParseName(rest)
		if ours && valid && name.Dead(self) {
			_ = s.removeScratch(filepath.Join(s.dir, entry.Name()))
		}
	}
	return nil
}
