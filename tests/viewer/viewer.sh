#!/usr/bin/env bash
# viewer.sh STIPPLE FOLDER [PATTERN]: tests the pages of the viewer in Chromium, or ends with 77 where that cannot be done.
# Screenshots are left in FOLDER/screenshots, or where STIPPLE_SCREENSHOTS says. Only tests whose name matches PATTERN are run.
set -euo pipefail
here=$(dirname "$0")
skip() { echo "skipped: $*"; exit 77; }
command -v node >/dev/null || skip "node is not installed"
[ "$(node -p 'Number(process.versions.node.split(".")[0])')" -ge 20 ] || skip "playwright-core needs node 20 or newer"
[ -e "$here/node_modules/.installed" ] || skip "the packages of tests/viewer are not installed; ./setup --test installs them"
[ -x "${STIPPLE_CHROMIUM:=/usr/bin/chromium}" ] || skip "$STIPPLE_CHROMIUM is missing; ./setup --test installs it"
export STIPPLE_CHROMIUM
export STIPPLE_PROGRAM=$(realpath "$1") STIPPLE_FOLDER=$2
export STIPPLE_SCREENSHOTS=${STIPPLE_SCREENSHOTS:-$2/screenshots}
exec node ${3:+"--test-name-pattern=$3"} "$here/viewer.mjs"
