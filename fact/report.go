package fact

import (
	"slices"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Report says for one run what held each promise. It is made for that run,
// from what was set up for it, never from what usually holds.
type Report struct {
	Mode policy.Mode `json:"mode"`
	// Enforcement sums the rows up; empty where the mode confines nothing.
	Enforcement Enforcement `json:"enforcement,omitempty"`
	// Landlock describes what the kernel offered, such as "ABI 7, errata 0x7";
	// empty where it was not asked for.
	Landlock string `json:"landlock,omitempty"`
	// Rows has one row for every promise, in the order of policy.Promises.
	Rows []Row `json:"promises"`
}

// Row is one promise of a report.
type Row struct {
	Promise policy.Promise `json:"promise"`
	Status  Status         `json:"status"`
	// Detail says by what the promise is enforced or closed, or why it is not.
	Detail string `json:"detail,omitempty"`
	// Hint is what would have the promise enforced; empty where it is, and where
	// nothing would.
	Hint string `json:"hint,omitempty"`
}

// Status is what became of a promise.
type Status string

// The states of a promise. Closed is a stricter variant than was promised.
const (
	Enforced    Status = "enforced"
	Closed      Status = "closed"
	NotEnforced Status = "not enforced"
	NotAsked    Status = "not asked"
)

// Enforcement is the sum of a report.
type Enforcement string

const (
	// Full: every promise that was asked is enforced or closed.
	Full Enforcement = "full"
	// Partial: at least one is not.
	Partial Enforcement = "partial"
)

// Broken returns the report with a promise that was enforced and did not hold
// after all.
func (r Report) Broken(p policy.Promise, detail string) Report {
	r = r.with(p, NotEnforced, detail)
	if r.Enforcement != "" {
		r.Enforcement = Partial
	}
	return r
}

// Fell returns the report with a promise that was enforced and in the end was
// held by a stricter variant.
func (r Report) Fell(p policy.Promise, detail string) Report { return r.with(p, Closed, detail) }

func (r Report) with(p policy.Promise, status Status, detail string) Report {
	r.Rows = slices.Clone(r.Rows)
	for i := range r.Rows {
		if r.Rows[i].Promise == p {
			r.Rows[i].Status, r.Rows[i].Detail = status, detail
		}
	}
	return r
}

// Missing lists the promises that were asked and are not enforced.
func (r Report) Missing() []policy.Promise { return r.having(NotEnforced) }

// Closed lists the promises that are held by a stricter variant.
func (r Report) Closed() []policy.Promise { return r.having(Closed) }

func (r Report) having(status Status) []policy.Promise {
	var out []policy.Promise
	for _, row := range r.Rows {
		if row.Status == status {
			out = append(out, row.Promise)
		}
	}
	return out
}
