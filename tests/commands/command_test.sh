# Shared by the tests of the command; source it with the path of the command as the first argument. It changes to an empty
# temporary folder and defines functions that run the command and check its exit status, its output and its files.
set -u
stipple=$(realpath "$1")
work=$(mktemp -d)
pid=  # of the command that start runs in the background
clean_up() { [ -z "$pid" ] || { kill -KILL "$pid"; wait "$pid"; } 2>/dev/null; rm -rf "$work"; }
trap clean_up EXIT
cd "$work" || exit 1
failures=0
fail() { echo "FAILED: $1"; failures=$((failures + 1)); tail -n 20 stdout stderr; }
check() { # check WHAT CONDITION...: the condition is a command
  local what=$1; shift
  if "$@"; then echo "ok: $what"; else fail "$what"; fi
}
run() { "$stipple" "$@" >stdout 2>stderr; status=$?; }  # sets the files stdout and stderr, and $status
status_is() { [ "$status" = "$1" ]; }
says() { grep -qF -- "$1" stdout; }
tells() { grep -qF -- "$1" stderr; }
one_line_with() { [ "$(wc -l <stderr)" = 1 ] && grep -qF -- "$1" stderr; }
last_line_with() { tail -n 1 stderr | grep -qF -- "$1"; }
fails_with() { [ "$status" = 1 ] && last_line_with "$1"; }
size_of() { od -An -tu1 -j16 -N8 "$1" | awk '{print $3 * 256 + $4 "x" $7 * 256 + $8}'; }  # of a PNG

# To interrupt a command: start it with far more work than it can finish, wait until its files show that it has reached the
# point in question, then send the signal. No step assumes how long anything takes; the limit only ends a test that hangs.
patience_s=300
# The files are emptied first, so that no condition holds because of an earlier command, and a signal that arrives before
# the shell has become the command must not make it clean up.
start() { : >stdout; : >stderr; (trap - EXIT; exec "$@") >stdout 2>stderr & pid=$!; }
is_running() { kill -0 "$pid" 2>/dev/null; }
exists() { compgen -G "$1" >/dev/null; }  # exists PATTERN
eventually() { # eventually CONDITION...: whether it holds before the limit
  local deadline=$((SECONDS + patience_s))
  until "$@"; do [ $SECONDS -lt $deadline ] || return 1; sleep 0.02; done
}
holds_or_ended() { "$@" || ! is_running; }
wait_until() { # wait_until CONDITION...: it must come to hold while the started command is running
  eventually holds_or_ended "$@" || { fail "waited $patience_s s in vain for: $*"; return; }
  is_running || fail "the command ended while the test waited for: $*"
}
has_ended() { ! is_running; }
wait_for_end() { # of the started command; sets $status
  eventually has_ended 2>/dev/null || { fail "the command did not end within $patience_s s and was killed"; kill -KILL "$pid"; }
  wait "$pid" 2>/dev/null; status=$?
  pid=
}
stop_with() { kill "-$1" "$pid"; wait_for_end; }  # stop_with SIGNAL
finish() { echo "$failures failures"; [ $failures = 0 ]; }
