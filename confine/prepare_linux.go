package confine

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/landlock"
	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/internal/nofollow"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Prepare opens all that the job needs and returns its plan. Nothing has run.
// The error is a *landlock.UnavailableError where Landlock cannot be used, and a
// *MetadataError where a broker is needed and there is none.
func Prepare(job Job) (*Plan, error) {
	s, err := look()
	if err != nil {
		return nil, err
	}
	if err := checkLimits(job.Policy.Limits); err != nil {
		return nil, err
	}
	p := &Plan{}
	if err := p.open(job, &s); err != nil {
		p.Close()
		return nil, err
	}
	p.Steps = steps(job, s)
	return p, nil
}

// open fills the slots, and with the ruleset the rules and the report.
func (p *Plan) open(job Job, in *setup) error {
	s := &in.slots
	s.stdin, s.stdout, s.stderr = p.slot(job.Stdin), p.slot(job.Stdout), p.slot(job.Stderr)
	dir, err := openDirectory(job.Dir)
	if err != nil {
		return err
	}
	s.dir = p.own(dir)
	p.Report = report(holder{job: job}, landlock.Kernel{})
	if job.Policy.Mode.Confines() {
		if err := p.confine(job, in); err != nil {
			return err
		}
	}
	if in.groups, err = p.entrances(job.Group); err != nil {
		return err
	}
	s.scratchpad = Slot(len(p.Files) + 1)
	return nil
}

// confine makes the ruleset and chooses the filter.
func (p *Plan) confine(job Job, in *setup) error {
	mounts, err := policy.Mounts()
	if err != nil {
		return err
	}
	if p.Rules, err = landlock.Rules(job.Policy, job.Scratch, os.DirFS("/"), mounts); err != nil {
		return err
	}
	made, err := landlock.Ruleset(p.Rules, job.Policy.Network)
	if err != nil {
		return err
	}
	p.Roots = made.Roots
	if job.Scratch != "" {
		p.Private = 1 // its rule is the last
	}
	p.owned = append(p.owned, made.Roots...)
	in.slots.ruleset = p.own(made.Ruleset)
	asked := job.Broker
	asked.Outer = asked.Outer.among(made.Roots)
	m, err := chooseMetadata(job.Policy, asked)
	if err != nil {
		return err
	}
	p.Report = report(holder{job: job, metadata: m, coreSocket: in.coreSocket}, made.Kernel)
	p.Filter = seccomp.Choose(job.Policy, seccomp.Options{ABI: made.Kernel.ABI, Metadata: m.handling})
	in.asks = p.Asks()
	in.filter, err = seccomp.Program(p.Filter)
	return err
}

func (p *Plan) slot(f *os.File) Slot {
	p.Files = append(p.Files, f)
	return Slot(len(p.Files))
}

func (p *Plan) own(f *os.File) Slot {
	p.owned = append(p.owned, f)
	return p.slot(f)
}

// openDirectory follows no symlink: the path was canonical when it was looked at.
func openDirectory(path string) (*os.File, error) {
	dir, err := nofollow.Open(path, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("open the directory %s: %w", path, err)
	}
	return dir, nil
}

// look reads what the helper inherits from this process.
func look() (setup, error) {
	var s setup
	status, err := readStatus()
	if err != nil {
		return s, err
	}
	if s.caps, err = readCapabilities(status); err != nil {
		return s, err
	}
	umask, err := strconv.ParseUint(status["Umask"], 8, 32)
	if err != nil {
		return s, fmt.Errorf("read the umask of this thread: %w", err)
	}
	s.umask = int(umask)
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &s.core); err != nil {
		return s, fmt.Errorf("read the core limit: %w", err)
	}
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &s.processes); err != nil {
		return s, fmt.Errorf("read the process limit: %w", err)
	}
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		return s, err
	}
	s.coreSocket = strings.HasPrefix(string(pattern), "@")
	s.oomScore, err = readNumber("/proc/self/oom_score_adj")
	return s, err
}

// readStatus reads the fields of /proc/thread-self/status.
func readStatus() (map[string]string, error) {
	f, err := os.Open("/proc/thread-self/status")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fields := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok {
			fields[key] = strings.TrimSpace(value)
		}
	}
	return fields, lines.Err()
}

func readCapabilities(status map[string]string) (capabilities, error) {
	var c capabilities
	for key, set := range map[string]*uint64{"CapPrm": &c.permitted, "CapEff": &c.effective, "CapBnd": &c.bounding} {
		n, err := strconv.ParseUint(status[key], 16, 64)
		if err != nil {
			return c, fmt.Errorf("read %s of this thread: %w", key, err)
		}
		*set = n
	}
	var err error
	c.last, err = readNumber("/proc/sys/kernel/cap_last_cap")
	return c, err
}

func readNumber(path string) (int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	return n, nil
}
