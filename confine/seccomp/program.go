package seccomp

// Program returns the program of a variant for the architecture that this
// binary was built for, as Archive.Program does. It is an error for None, and on
// an architecture that has no programs.
func Program(v Variant) ([]byte, error) {
	return Archive{Programs: nativePrograms}.Program(v)
}

// PFC returns the same program's rules as text, as Archive.PFC does. It is apart
// from Program so that a binary that never asks does not carry the texts.
func PFC(v Variant) (string, error) {
	return Archive{Texts: nativeTexts}.PFC(v)
}
