#!/usr/bin/env bash
# sfm_faults_test.sh STIPPLE: what can go wrong around stipple sfm: files with strange names, signals, and programs that do
# not behave. fake_colmap.sh and fake_ffmpeg.sh stand in for COLMAP and ffmpeg.
fakes=$(dirname "$(realpath "$0")")
. "$fakes/command_test.sh"
real_ffmpeg=$(command -v ffmpeg)
mkdir bin photos
cp "$fakes/fake_colmap.sh" bin/colmap
cp "$fakes/fake_ffmpeg.sh" bin/ffmpeg
"$stipple" fit --builtin --gaussians 5 --steps 1 -o out >/dev/null 2>&1
for i in 1 2 3 4 5; do cp out/result.png photos/$i.png; done
export FAKE=$work FAKE_FRAME=$work/out/result.png PATH=$work/bin:$PATH
sfm() { # sfm INPUT OUTPUT: both may begin with a dash
  rm -rf "${work:?}/$2" calls arguments hanging
  "$stipple" sfm --output="$2" -- "$1" >stdout 2>stderr; status=$?
}
run() { sfm photos scene; }
got() { grep -qxF -- "$1" arguments; }  # whether a program got exactly this argument
follows() { [ "$(grep -A1 -xF -m1 -- "$1" arguments | tail -n 1)" = "$2" ]; }
not() { ! "$@"; }

# Names.
for name in --help -y "a b:c|d" 100%d; do
  cp -r photos "./$name"
  sfm "$name" "--out%d"
  check "a folder called $name: becomes a scene" says "5 of 5 photos placed"
  check "a folder called $name: COLMAP gets an absolute path" follows --image_path "$work/$name"
  check "a folder called $name: COLMAP gets no name as an option" [ "$(grep -cxF -e --help -e -y arguments)" = 0 ]
done
check "the output's path is absolute, too" follows --database_path "$work/--out%d/sfm/database.db"
for name in -y.mp4 http:x.mp4 "concat:a|b.mp4" walk%d.mp4; do
  touch "./$name"
  sfm "$name" "--out%d:x"
  check "a video called $name: becomes a scene" says "4 of 4 photos placed"
  check "a video called $name: ffmpeg gets it as a file" follows -i "file:$work/$name"
  check "a video called $name: the output's % is doubled" got "file:$work/--out%%d:x/sfm/frames/%05d.jpg"
done
check "a video may not open anything but files" follows -protocol_whitelist file
check "a video may not be a list of other files" follows -format_whitelist mov,matroska,avi
for name in $'a\nb.png' " a.png"; do
  rm -rf named; cp -r photos named; cp out/result.png "named/$name"
  sfm named scene
  check "a photo whose name COLMAP would misread: the error names it" fails_with "named/${name/$'\n'/?}: COLMAP cannot read"
  check "a photo whose name COLMAP would misread: one line, no folder" [ "$(wc -l <stderr)" = 1 -a ! -e scene ]
done
if [ -n "$real_ffmpeg" ]; then
  ln -sf "$real_ffmpeg" bin/ffmpeg
  ffmpeg -loglevel error -f lavfi -i testsrc=d=2:s=64x48:r=5 real.mp4 </dev/null
  cp real.mp4 "./-http:x%d.mp4"
  sfm "-http:x%d.mp4" "--out%d:x"
  check "the real ffmpeg takes strange names" says "4 of 4 photos placed"
  printf '#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nreal.mp4\n#EXT-X-ENDLIST\n' >hls.mp4
  printf "ffconcat version 1.0\nfile 'real.mp4'\n" >concat.mp4
  for name in hls.mp4 concat.mp4; do
    sfm $name scene
    check "the real ffmpeg does not follow $name" fails_with "ffmpeg failed while extracting frames"
    check "the real ffmpeg extracts nothing from $name" [ -z "$(ls scene/sfm/frames)" ]
  done
fi
for rate in nan inf 0 -1; do
  "$stipple" sfm photos -o scene --fps=$rate >stdout 2>stderr; status=$?
  check "--fps=$rate is refused" status_is 2
done

# Signals. COLMAP's group of processes, with the watcher in it, must end with the command, however that ends.
mapper_hangs='ps -o pgid= -p $$ >"$FAKE/hanging"; sleep 3600 & wait; wait'
is_gone() { ! ps -eo pgid=,stat= | awk -v group="$(xargs <hanging)" '$1 == group && $2 !~ /Z/' | grep -q .; }
start_hanging() { # start_hanging COMMANDS: starts the command and waits until COLMAP hangs in the mapper, after the commands
  rm -rf scene calls hanging
  start env --default-signal=HUP FAKE_AT=mapper FAKE_DO="$1$mapper_hangs" "$stipple" sfm photos -o scene
  wait_until [ -s hanging ]
}
has_ended_after() { kill "-$1" "$pid" 2>/dev/null; has_ended; }  # has_ended_after SIGNAL: sends it
send_until_ended() { eventually has_ended_after "$1"; wait_for_end; }
start_hanging ""
check "COLMAP has a group of its own" not [ "$(xargs <hanging)" = "$(ps -o pgid= -p "$pid" | xargs)" ]
stop_with KILL
check "a killed command: COLMAP and its child processes end" eventually is_gone
start_hanging "trap '' TERM HUP INT; "
stop_with KILL
check "a killed command: a COLMAP that ignores signals ends, too" eventually is_gone
start_hanging "trap '' TERM; "
send_until_ended INT
check "two interrupts: a COLMAP that ignores TERM ends" eventually is_gone
start_hanging ""
send_until_ended HUP
check "SIGHUP, even twice, is an interrupt" fails_with "interrupted while placing photos; there is no scene yet"
check "SIGHUP: COLMAP ends" eventually is_gone
start_hanging 'trap "echo >\"\$FAKE/tidied\"; exit 1" TERM; ps -o pgid= -p $$ >"$FAKE/hanging"; kill -STOP $$; '
colmap_is_stopped() { ps -eo pgid=,stat= | awk -v group="$(xargs <hanging)" '$1 == group && $2 ~ /T/' | grep -q .; }
wait_until colmap_is_stopped
stop_with INT
check "interrupt: a stopped COLMAP is continued, so that it can end by itself" [ -e tidied ]
rm -rf scene hanging
wait_for_go='echo >"$FAKE/hanging"; until [ -e "$FAKE/go" ]; do sleep 0.02; done'
start env --ignore-signal=HUP FAKE_AT=mapper FAKE_DO="$wait_for_go" "$stipple" sfm photos -o scene
wait_until [ -e hanging ]
kill -HUP "$pid"; touch go
wait_for_end
check "SIGHUP after nohup: the command goes on" status_is 0

# Programs that do not behave.
export FAKE_AT=mapper FAKE_DO
FAKE_DO='sleep 3600 & ps -o pgid= -p $$ >"$FAKE/hanging"'
run
check "COLMAP leaves a child process behind: the command goes on" status_is 0
check "COLMAP leaves a child process behind: it is ended" eventually is_gone
FAKE_DO='exec >&- 2>&-; sleep 0.1; exit 3'
run
check "COLMAP closes its output before it fails: the error gives its status" fails_with "placing photos (exit status 3); its output"
FAKE_DO='exit 3'
rm -rf scene; env --ignore-signal=CHLD "$stipple" sfm photos -o scene >stdout 2>stderr; status=$?
check "SIGCHLD is ignored by the caller: COLMAP's status is still seen" fails_with "placing photos (exit status 3)"
FAKE_DO='exit 0'
FAKE_AT=image_undistorter run
check "COLMAP writes no model: the error names it" fails_with "cannot use COLMAP's model in $work/scene/sfm/undistorted/sparse"
FAKE_DO='head -c 100000000 /dev/zero | tr "\0" x; echo; echo after; echo "Matching block [99999999999/1, -9/99999999999]"; echo "Registering image #1 (99999999999999999999)"'
run
check "a line of 100 MB, and impossible counts: the command goes on" status_is 0
check "a line of 100 MB: the log has its beginning" [ "$(wc -L <scene/sfm/colmap.log)" = 65536 ]
check "a line of 100 MB: the log has the next line" grep -qx after scene/sfm/colmap.log
FAKE_DO='head -c 100000 /dev/zero | tr "\0" x; exit 3'
run
check "a long last line: the error is short" [ $status = 1 -a "$(tail -n 1 stderr | wc -c)" -lt 500 ]
mkdir -p full/sfm; ln -s /dev/full full/sfm/colmap.log
FAKE_AT= "$stipple" sfm photos -o full >stdout 2>stderr; status=$?
check "no space for the log: the scene is made" [ $status = 0 -a -e full/sparse/0/images.txt ]
check "no space for the log: one warning" [ "$(grep -c "^warning: cannot write full/sfm/colmap.log" stderr)" = 1 ]
mkdir -p full2/sfm; ln -s /dev/full full2/sfm/colmap.log
FAKE_DO='exit 3'
"$stipple" sfm photos -o full2 >stdout 2>stderr; status=$?
check "no space for the log, and a failure: the error does not promise the log" fails_with "its output could not be written to full2/sfm"

finish
