#!/bin/bash
# Fails when gofumpt would change a file of the packages in PKGS.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck disable=SC2086 # PKGS is a list
mapfile -t dirs < <(go list -f '{{.Dir}}' ${PKGS:?run this through make})
((${#dirs[@]})) || { echo "gofumpt: no packages in PKGS=$PKGS" >&2; exit 1; }
changed=$($GOFUMPT -l "${dirs[@]}")
if [[ -n $changed ]]; then
	printf 'gofumpt would change (make fmt does it):\n%s\n' "$changed" >&2
	exit 1
fi
