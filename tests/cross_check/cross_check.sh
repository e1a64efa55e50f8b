#!/usr/bin/env bash
# cross_check.sh STIPPLE: runs cross_check.mjs, or ends with 77 where node is missing.
set -euo pipefail
if ! command -v node >/dev/null; then echo "skipped: node is not installed"; exit 77; fi
exec node --no-deprecation "$(dirname "$0")/cross_check.mjs" "$1"
