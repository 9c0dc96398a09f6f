package seccomp

import _ "embed"

var (
	//go:embed programs/amd64.filters
	nativePrograms string
	//go:embed programs/amd64.pfc.gz
	nativeTexts string
)
