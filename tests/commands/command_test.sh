# What the tests of the command share: source it with the command as first argument. A folder of their own to work in, and
# cases that run the command for real and look at its exit status, at what it prints and at the files it leaves.
set -u
stipple=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
check() { # check WHAT CONDITION...: the condition is a command
  local what=$1; shift
  if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=$((failures + 1)); tail -n 20 stdout stderr; fi
}
run() { "$stipple" "$@" >stdout 2>stderr; status=$?; }  # into stdout, stderr, status
status_is() { [ "$status" = "$1" ]; }
says() { grep -qF -- "$1" stdout; }
tells() { grep -qF -- "$1" stderr; }
one_line_with() { [ "$(wc -l <stderr)" = 1 ] && grep -qF -- "$1" stderr; }
last_line_with() { tail -n 1 stderr | grep -qF -- "$1"; }
fails_with() { [ "$status" = 1 ] && last_line_with "$1"; }
size_of() { od -An -tu1 -j16 -N8 "$1" | awk '{print $3 * 256 + $4 "x" $7 * 256 + $8}'; }  # of a PNG
finish() { echo "$failures failures"; [ $failures = 0 ]; }
