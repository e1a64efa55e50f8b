#!/usr/bin/env bash
# run.sh PYTHON FILE: the tests in one file; 77 when Python lacks what they need, and a message.
set -uo pipefail
for package in numpy pytest; do
  "$1" -c "import $package" 2>/dev/null || { echo "skipped: $1 has no $package; ./setup --test installs it"; exit 77; }
done
"$1" -m pytest -q -rs -p no:cacheprovider "$2"
status=$?
# 5: nothing was collected, since all of it needs torch, which is not there; pytest said so above.
[ $status != 5 ] || exit 77
exit $status
