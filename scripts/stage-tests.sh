#!/bin/bash
# Fills a directory with what an ordinary user needs to run the tests: the tree
# (tests read their testdata and their siblings), each package's compiled tests
# beside it, the feature probe, a home, and a list of the packages.
#   stage-tests.sh DIRECTORY
set -euo pipefail
cd "$(dirname "$0")/.."
stage=$1
export CGO_ENABLED=0
read -ra packages <<<"${PKGS:?run this through make}"

mkdir -m 0700 "$stage/home" "$stage/tree"
tar --exclude=./.git --exclude=./bin --exclude=./.cache -cf - . | tar -xf - -C "$stage/tree"
go build -buildvcs=false -o "$stage/features" ./internal/kerneltest/features

root=$(pwd -P)
go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' "${packages[@]}" |
	while read -r package dir; do
		go test -c -o "$stage/tree/${dir#"$root"/}/staged.test" "$package" </dev/null
		echo "$package $stage/tree/${dir#"$root"/}"
	done >"$stage/packages"
if ! [[ -s $stage/packages ]]; then
	echo "stage: no tests in PKGS=$PKGS" >&2
	exit 1
fi
chown -R 1000:1000 "$stage"
