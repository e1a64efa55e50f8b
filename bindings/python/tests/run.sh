#!/usr/bin/env bash
# run.sh PYTHON FILE runs the tests in one file. Exits with 77 and a message if Python packages are missing.
set -uo pipefail
for package in numpy pytest; do
  "$1" -c "import $package" 2>/dev/null || { echo "skipped: $1 has no $package; ./setup --test installs it"; exit 77; }
done
"$1" -m pytest -q -rs -p no:cacheprovider "$2"
status=$?
# 5 means that no test was collected, since all of them need torch; pytest has printed the reason.
[ $status != 5 ] || exit 77
exit $status
