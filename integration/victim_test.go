package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// provenOnlyAsRoot are the calls that an ordinary user is refused with the same
// errno without a filter: the kernel asks for the privilege first.
const provenOnlyAsRoot = "pivot_root move_mount fsopen fsmount fspick kexec_load kexec_file_load " +
	"init_module finit_module delete_module reboot swapoff acct syslog vhangup sethostname setdomainname " +
	"lookup_dcookie"

// provenByOrder are the calls whose checks come in another order on other
// kernels: an ordinary user proves them on some.
const provenByOrder = "open_by_handle_at"

// victimRun is one filter and a way to come under it.
type victimRun struct {
	name   string
	rules  []seccomp.Rule
	answer func(t *testing.T, attempts []attempt) []syscall.Errno
}

// TestVictims makes a call for each rule: without a filter, under the product,
// and under the filter alone, where neither Landlock nor a privilege that the
// helper gave up can be what refuses it.
func TestVictims(t *testing.T) {
	needs(t, kerneltest.Program("cat"))
	v := victims{before: map[string]syscall.Errno{}, proven: map[string]bool{}, absent: map[string]bool{}}
	for _, r := range productRuns(t) {
		t.Run(r.name, func(t *testing.T) { v.under(t, r) })
	}
	product := len(v.proven)
	for _, r := range filterRuns(t) {
		t.Run(r.name, func(t *testing.T) { v.under(t, r) })
	}
	v.count(t)
	t.Logf("%d of them through the product, the others under the filter alone", product)
}

// count fails for a rule that neither kind of user proves.
func (v victims) count(t *testing.T) {
	t.Helper()
	onlyAsRoot, proven, absent, privileged := strings.Fields(provenOnlyAsRoot), 0, 0, 0
	for _, rule := range seccomp.Table() {
		id := victimID(rule)
		listed := slices.Contains(onlyAsRoot, rule.Call)
		switch {
		case !victimHas(rule):
		case v.absent[id]:
			absent++ // whether a rule answers ENOSYS there says nothing
			t.Logf("%s: %s: this kernel lacks the call", rule.Group, rule)
		case v.proven[id]:
			proven++
			if listed && os.Getuid() != 0 && v.before[rule.Call] != unix.ENOSYS {
				t.Errorf("%s: %s is proven as an ordinary user: take it off the list", rule.Group, rule)
			}
		case os.Getuid() != 0 && (listed || rule.Call == provenByOrder):
			privileged++
		default:
			t.Errorf("%s: %s is not proven", rule.Group, rule)
		}
	}
	for _, call := range onlyAsRoot {
		if !slices.ContainsFunc(seccomp.Table(), func(r seccomp.Rule) bool { return r.Call == call }) {
			t.Errorf("%s is on the list and in no rule", call)
		}
	}
	t.Logf("uid %d: of %d rules %d proven, %d only as root, %d whose call this kernel lacks", os.Getuid(), len(seccomp.Table()), proven, privileged, absent)
}

func victimID(r seccomp.Rule) string { return r.Group.String() + " " + r.String() }

type victims struct {
	// before has each attempt's errno without a filter, and each call's last.
	before map[string]syscall.Errno
	proven map[string]bool
	absent map[string]bool
}

func (v victims) under(t *testing.T, run victimRun) {
	var attempts []attempt
	var rules []seccomp.Rule
	for _, rule := range run.rules {
		a, found := victimOf(rule, run.rules)
		switch {
		case !victimHas(rule):
		case !found:
			t.Errorf("%s: %s has no attempt that it alone refuses", rule.Group, rule)
		default:
			attempts, rules = append(attempts, a), append(rules, rule)
		}
	}
	v.unfiltered(t, attempts)
	unchanged := 0
	for i, got := range run.answer(t, attempts) {
		rule, a := rules[i], attempts[i]
		want := victimAnswer(rule)
		if got != want {
			t.Errorf("%s gave %v, wanted %v from %s: %s", a, got, want, rule.Group, rule)
			continue
		}
		if v.before[a.String()] != want {
			v.proven[victimID(rule)] = true
			continue
		}
		unchanged++
		if got == unix.ENOSYS {
			v.absent[victimID(rule)] = true
		}
	}
	t.Logf("%d rules, %d attempts, %d of them with the same answer without the filter", len(run.rules), len(attempts), unchanged)
}

// victimAnswer is the kernel's where a rule asks: nobody listens here.
func victimAnswer(r seccomp.Rule) syscall.Errno {
	if r.Asks() {
		return unix.ENOSYS
	}
	return r.Answer
}

// unfiltered makes each attempt that was not made yet.
func (v victims) unfiltered(t *testing.T, attempts []attempt) {
	t.Helper()
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(a attempt) bool {
		_, done := v.before[a.String()]
		return done
	})
	for i, errno := range victimsOutside(t, attempts, "all") {
		v.before[attempts[i].String()], v.before[attempts[i].Call] = errno, errno
	}
}

var metadataAlone = []policy.Promise{policy.PromiseMetadata}

// productRuns are the runs of the product that have the groups of both networks.
func productRuns(t *testing.T) []victimRun {
	t.Helper()
	var runs []victimRun
	for _, tt := range []struct {
		policy   policy.Policy
		metadata seccomp.Handling
	}{
		{policy.Policy{Mode: policy.ReadOnly, Closed: metadataAlone}, seccomp.Close},
		{policy.Policy{Mode: policy.WorkspaceWrite, Network: policy.NetworkAllow, AllowUnenforced: metadataAlone}, seccomp.Leave},
	} {
		abi, err := kerneltest.LandlockABI()
		if err != nil {
			t.Fatal(err)
		}
		variant := seccomp.Choose(tt.policy, seccomp.Options{ABI: abi, Metadata: tt.metadata})
		runs = append(runs, victimRun{"product " + variant.String(), variant.Rules(), func(t *testing.T, attempts []attempt) []syscall.Errno {
			inside := tt.policy
			inside.Workspace = realTempDir(t)
			r := run(t, newExecutor(t, executor.Config{}), executor.Request{
				Policy: &inside, Argv: []string{selfPath(t), "as-victim", "all"}, Stdin: bytes.NewReader(victimsJSON(t, attempts)),
			})
			if r.Exit.Failed() {
				t.Fatalf("got %+v: %s", r.Exit, stderr(r))
			}
			return victimErrnos(t, stdout(r), len(attempts))
		}})
	}
	return runs
}

// victimVariants are filters for the oldest kernels: together they have all
// groups.
func victimVariants() []seccomp.Variant {
	return []seccomp.Variant{
		seccomp.Choose(policy.Policy{}, seccomp.Options{}),
		seccomp.Choose(policy.Policy{}, seccomp.Options{Metadata: seccomp.Ask}),
		seccomp.Choose(policy.Policy{Network: policy.NetworkAllow}, seccomp.Options{Metadata: seccomp.Leave}),
	}
}

// filterRuns are all of victimVariants.
func filterRuns(t *testing.T) []victimRun {
	t.Helper()
	var runs []victimRun
	for _, variant := range victimVariants() {
		runs = append(runs, victimRun{"filter " + variant.String(), variant.Rules(), func(t *testing.T, attempts []attempt) []syscall.Errno {
			return victimsOutside(t, attempts, "under", variant.String())
		}})
	}
	return runs
}

func victimsOutside(t *testing.T, attempts []attempt, how ...string) []syscall.Errno {
	t.Helper()
	cmd := self(t, "as-victim", how...)
	cmd.Stdin = bytes.NewReader(victimsJSON(t, attempts))
	var message bytes.Buffer
	cmd.Stderr = &message
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, message.String())
	}
	return victimErrnos(t, string(out), len(attempts))
}

func victimsJSON(t *testing.T, attempts []attempt) []byte {
	t.Helper()
	text, err := json.Marshal(attempts)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func victimErrnos(t *testing.T, out string, want int) []syscall.Errno {
	t.Helper()
	var list []syscall.Errno
	for field := range strings.FieldsSeq(out) {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, syscall.Errno(n))
	}
	if len(list) != want {
		t.Fatalf("got %d answers, want %d", len(list), want)
	}
	return list
}

// TestEveryRuleHasAVictim holds on both architectures: each rule has an attempt
// that it alone refuses in every filter that has it.
func TestEveryRuleHasAVictim(t *testing.T) {
	seen := map[string]bool{}
	for _, variant := range victimVariants() {
		filter := variant.Rules()
		for _, rule := range filter {
			if _, found := victimOf(rule, filter); found {
				seen[victimID(rule)] = true
			}
		}
	}
	missing := 0
	for _, rule := range seccomp.Table() {
		if !seen[victimID(rule)] {
			missing++
			t.Errorf("%s: %s has no victim", rule.Group, rule)
		}
	}
	t.Logf("%s: %d rules, %d without a victim", runtime.GOARCH, len(seccomp.Table()), missing)
}
