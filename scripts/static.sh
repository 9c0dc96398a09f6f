#!/bin/bash
# Builds every package and every command for both architectures without cgo, and
# fails unless each command is one static file: no interpreter, no libraries.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export CGO_ENABLED=0 GOOS=linux
read -ra packages <<<"${PKGS:?run this through make}"

commands=$(go list -f '{{if eq .Name "main"}}{{.ImportPath}}{{end}}' "${packages[@]}" | { grep '/cmd/' || true; })
if [[ -z $commands && $PKGS == ./... ]]; then
	echo "static: found no command to check" >&2
	exit 1
fi

check() { # FILE
	local headers
	headers=$(LC_ALL=C readelf -lW "$1")
	if ! grep -q ' LOAD ' <<<"$headers" || grep -qE ' (INTERP|DYNAMIC) ' <<<"$headers"; then
		printf '%s: is not static\n%s\n' "$1" "$headers" >&2
		return 1
	fi
}

for arch in amd64 arm64; do
	GOARCH=$arch go build -buildvcs=false -o /dev/null "${packages[@]}"
	for command in $commands; do
		file=$out/$(basename "$command").$arch
		GOARCH=$arch go build -buildvcs=false -trimpath -o "$file" "$command"
		check "$file"
		echo "static: $(basename "$file")"
	done
done
