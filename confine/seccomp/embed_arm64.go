package seccomp

import _ "embed"

var (
	//go:embed programs/arm64.filters
	nativePrograms string
	//go:embed programs/arm64.pfc.gz
	nativeTexts string
)
