package classify

import (
	"fmt"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

func ExampleDenials() {
	o := Outcome{
		Exit:   fact.Exit{Code: 1},
		Dir:    "/home/u/w",
		Stderr: []byte("bash: line 1: ../out: Permission denied\ncat: /etc/shadow: Permission denied\n"),
	}
	files := workspaceWrite() // outside the sandbox u may write below /home/u, and not read /etc/shadow
	files.closed = []string{"/etc/shadow"}
	denials := Denials(o, files)
	for _, d := range denials {
		fmt.Println(d.Verdict, d.Op, d.Path, "-", d.Rule)
	}
	fmt.Println(Denied(o.Exit, denials))
	// Output:
	// denied write /home/u/out - outside the writable roots
	// true
}
