package executor

import (
	"os"
	"strings"
	"time"

	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// sweepPatience bounds what starting an executor may cost for the sake of the
// dead. A process that one of them left behind may still be filling.
const sweepPatience = time.Second

// sweep removes the directories of runs whose owner is known to be dead. What
// cannot be removed, or not in time, is left to the next executor.
func (s state) sweep() error {
	end := time.Now().Add(sweepPatience)
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	self, err := keeper.NewName()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		rest, ours := strings.CutPrefix(entry.Name(), runPrefix)
		name, valid := keeper.ParseName(rest)
		if ours && valid && name.Dead(self) {
			_ = s.remove(entry.Name(), end)
		}
	}
	return nil
}
