#!/usr/bin/env bash
# Installs the npm packages that cross_check.mjs compares Stipple with into node_modules here (46 MB to download), as far as
# that is not done. Succeeds whatever happens: without them, the check is skipped.
set -u
cd "$(dirname "$0")" || exit 0
installed=node_modules/.installed
cmp -s package-lock.json "$installed" && exit 0
if ! command -v npm >/dev/null; then
  echo "setup: npm is missing; the formats of models will not be compared with other programs" >&2
  exit 0
fi
echo "setup: installing the npm packages of tests/cross_check"
log=$(mktemp)
if npm ci >"$log" 2>&1; then
  cp package-lock.json "$installed"; rm -f "$log"
else
  echo "setup: npm ci failed in tests/cross_check (its output is in $log); the formats of models will not be compared with other programs" >&2
fi
exit 0
