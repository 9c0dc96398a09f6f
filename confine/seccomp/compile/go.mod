module github.com/sandbox-exec/sandbox-exec/confine/seccomp/compile

go 1.26.0

require (
	github.com/sandbox-exec/sandbox-exec v0.0.0
	github.com/seccomp/libseccomp-golang v0.11.1
	golang.org/x/net v0.62.0
	golang.org/x/sys v0.50.0
)

require github.com/moby/sys/mountinfo v0.7.3 // indirect

replace github.com/sandbox-exec/sandbox-exec => ../../..
