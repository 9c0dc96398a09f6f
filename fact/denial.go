package fact

// Denial is one access that was refused to a command.
type Denial struct {
	Kind Kind `json:"kind"`
	Op   Op   `json:"op"`
	// Path is the file that was named, absolute; empty where no path is known.
	Path     string   `json:"path,omitempty"`
	Verdict  Verdict  `json:"verdict"`
	Evidence Evidence `json:"evidence"`
	// Line is the line of output that the denial was read from, without its
	// colours; empty where the evidence is not text.
	Line string `json:"line,omitempty"`
	// Rule says in words which rule of the policy refuses the access.
	Rule string `json:"rule,omitempty"`
}

// Kind is the family of a denial.
type Kind string

// The kinds of denial.
const (
	// KindFile: the content and the names of files.
	KindFile Kind = "file"
	// KindMetadata: mode, owner, times and attributes of a file.
	KindMetadata Kind = "metadata"
)

// Op is what the command tried.
type Op string

// The operations. OpWrite stands also for a change that a text does not name.
const (
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpCreate   Op = "create"
	OpDelete   Op = "delete"
	OpRename   Op = "rename"
	OpLink     Op = "link"
	OpTruncate Op = "truncate"
	OpExecute  Op = "execute"
	OpChmod    Op = "chmod"
	OpChown    Op = "chown"
	OpUtime    Op = "utime"
	OpXattr    Op = "xattr" // extended attributes, access control lists among them
)

// Verdict is how sure a denial is.
type Verdict string

const (
	// Denied: this policy refuses the access and ordinary permissions would
	// have allowed it.
	Denied Verdict = "denied"
	// Possible: the program reports a refusal, and what it tried is not known
	// well enough to say whose it was.
	Possible Verdict = "possible"
)

// Evidence is where a denial was learned from.
type Evidence string

const (
	// EvidenceText: from what the program wrote.
	EvidenceText Evidence = "text"
	// EvidenceBroker: the sandbox itself refused it.
	EvidenceBroker Evidence = "broker"
)
