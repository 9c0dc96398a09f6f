package kerneltest

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// slowVariable says how many times slower than a machine of one's own this one
// is: an emulated processor takes ten times as long for some things.
const slowVariable = "SANDBOX_SLOW"

// Slow returns a time that a test gives something to happen in, or takes it for
// hanging, stretched for this machine. It is no time for what the product must be
// quick at.
func Slow(d time.Duration) time.Duration {
	return d * time.Duration(slowness())
}

// Fewer returns how often a test that repeats an act does so here: often enough
// to find what a machine of one's own finds at times.
func Fewer(times int) int { return max(1, times/slowness()) }

// Some returns what a test that goes through a long list takes of it here: all,
// or every so many.
func Some[T any](list []T) []T {
	var some []T
	for i := 0; i < len(list); i += slowness() {
		some = append(some, list[i])
	}
	return some
}

func slowness() int {
	text := os.Getenv(slowVariable)
	if text == "" {
		return 1
	}
	factor, err := strconv.Atoi(text)
	if err != nil || factor < 1 {
		panic(fmt.Sprintf("%s=%q: want a whole number of 1 or more", slowVariable, text))
	}
	return factor
}
