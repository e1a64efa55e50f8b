#!/usr/bin/env bash
# run_safety_test.sh STIPPLE: whatever ends a training run, its last good state is saved, and nobody else's files are lost.
. "$(dirname "$0")/command_test.sh"
same() { cmp -s "$1/model.ply" "$2/model.ply"; }
steps_of() { sed -n 's/^ *"steps": \([0-9]*\),$/\1/p' "$1/metrics.json"; }
options="--backend cpu --max-gaussians 2000 --guard off"
endless="$options --steps 1000000 --refine-from 0 --refine-every 1 --sh-every 3"
"$stipple" synth -o scene --views 8 --size 48x36 >/dev/null 2>&1

# Two runs on one folder.
start "$stipple" train scene -o shared $endless --checkpoint-every 10 --checkpoint-seconds 0
wait_until [ -e shared/checkpoint ]
for how in "" --resume --overwrite; do
  "$stipple" train scene -o shared $endless $how >stdout2 2>stderr2; second=$?
  check "a second run on the same folder ${how:+with $how }fails" [ $second = 1 ]
  expected="shared: process $pid on "
  [ -n "$how" ] || expected="shared: this folder already holds a run"
  check "a second run ${how:+with $how }is told why" grep -qF "$expected" stderr2
done
stop_with KILL
check "a killed run leaves its lock file" [ -e shared/.lock ]
run train scene -o shared --resume --stop-at 1
check "the lock of a killed run does not block" status_is 0
check "a run removes its lock file" [ ! -e shared/.lock ]

# --overwrite keeps the earlier run until the new one has something to save.
run train scene -o kept $options --steps 30
cp -r kept earlier
unchanged() { diff -r kept earlier >/dev/null; }
run train nowhere -o kept --overwrite
check "--overwrite with a missing scene keeps the earlier run" unchanged
run train scene -o kept --overwrite --backend cuda:99
check "--overwrite with a missing device keeps the earlier run" unchanged
start "$stipple" train scene -o kept --overwrite $endless --checkpoint-every 1000000
eventually tells "it/s" || fail "the run does not start"  # progress is shown after a few seconds
stop_with KILL
rm -f kept/.lock
check "--overwrite killed before the first save keeps the earlier run" unchanged
start "$stipple" train scene -o kept --overwrite $endless --checkpoint-every 1000000
eventually tells "it/s" || fail "the run does not start"
stop_with INT
check "--overwrite interrupted before the first save: fails" status_is 1
check "--overwrite interrupted before the first save: says so" last_line_with "the earlier run in kept is unchanged"
check "--overwrite interrupted before the first save keeps the earlier run" unchanged
run train scene -o kept --overwrite $options --steps 40
check "--overwrite replaces the earlier run" [ "$(steps_of kept)" = 40 ]
run train scene -o fresh $options --steps 40
check "--overwrite trains as in an empty folder" same kept fresh
check "--overwrite writes all files anew" [ "$(grep -c . kept/log.jsonl)" = "$(grep -c . fresh/log.jsonl)" ]

cp -r earlier blocked; rm blocked/options.json; mkdir blocked/options.json
run train scene -o blocked --overwrite $options --steps 5
check "--overwrite that cannot write its options: fails" fails_with "options.json: it is a directory; the earlier run in blocked is unchanged"
check "--overwrite that cannot write its options keeps the earlier run" cmp blocked/checkpoint earlier/checkpoint
cp -r earlier blocked2; rm blocked2/checkpoint; mkdir -p blocked2/checkpoint/full
run train scene -o blocked2 --overwrite $options --steps 5
check "--overwrite that cannot remove a checkpoint: says what is left" fails_with "nothing had been saved yet, and of the earlier run in blocked2 only model.ply is left"

# A log that cannot be written does not cost the state, and the advice can be pasted into a shell.
mkdir "a log"; ln -s /dev/full "a log/log.jsonl"
run train scene -o "a log" $options --steps 200
check "an unwritable log: the state is saved" fails_with "stipple train scene -o 'a log' --resume continues from step 100, which was saved"
rm "a log/log.jsonl"
run train scene -o "a log" --resume
check "an unwritable log: the run can be resumed" status_is 0

# A photo that disappears for a moment. The cache holds no photo, so that every step reads one.
start "$stipple" train scene -o gone $endless --checkpoint-every 1000000 --max-ram 0.000001
wait_until [ -s gone/log.jsonl ]
mv scene/images/0003.png elsewhere.png
wait_for_end
mv elsewhere.png scene/images/0003.png
check "a photo that disappears: fails" status_is 1
check "a photo that disappears: the error names it and says how to go on" last_line_with "0003.png"
check "a photo that disappears: the state is saved" last_line_with "stipple train scene -o gone --resume continues from step $(steps_of gone), which was saved"
end=$(($(steps_of gone) + 30))
run train scene -o gone --resume --stop-at $end
check "a photo that disappears: the run can be resumed" status_is 0
run train scene -o straight $endless --max-ram 0.000001 --stop-at $end
check "a photo that disappears: the resumed run ends with the same bits" same straight gone

# The terminal is closed, and the reader of a pipe goes away.
start env --default-signal=HUP "$stipple" train scene -o hung_up $endless --checkpoint-every 1000000
wait_until [ -s hung_up/log.jsonl ]
stop_with HUP
check "SIGHUP saves the run" last_line_with "the run was saved in hung_up, continue it with --resume"
check "SIGHUP leaves a checkpoint" [ -s hung_up/checkpoint ]
mkfifo reader
head -c 1 reader >/dev/null & head=$!
"$stipple" train scene -o piped $options --steps 60 --eval --eval-every 10 >reader 2>stderr; status=$?
wait $head
check "a reader that goes away: the run ends as always" [ "$(steps_of piped)" = 60 ]
check "a reader that goes away: the error says so" fails_with "cannot write to the standard output"
if [ -e /dev/full ]; then
  "$stipple" train scene -o full $options --steps 20 --eval --eval-every 5 >/dev/full 2>stderr; status=$?
  check "an unwritable standard output loses nothing" [ "$(steps_of full)" = 20 -a -s full/model.ply ]
fi

# Advice that helps.
run train scene -o smaller $endless --stop-at 50
count=$(sed -n 's/^ *"gaussians": \([0-9]*\),$/\1/p' smaller/metrics.json | head -n 1)
run train scene -o smaller --resume --stop-at 60 --max-gaussians $((count - 100))
check "--resume with a lower --max-gaussians drops some" tells "the checkpoint has $count Gaussians; the 100 least important were dropped to keep to --max-gaussians"
check "--resume with a lower --max-gaussians keeps to it" grep -q "\"gaussians\": $((count - 100))," smaller/metrics.json

# Another scene of the same shape, and files that are not what they should be.
"$stipple" synth -o other --views 8 --size 48x36 --seed 5 >/dev/null 2>&1
run train other -o smaller --resume --stop-at 70
check "--resume with another scene: refused" fails_with "smaller/checkpoint: the checkpoint is from a run with another 0001.png, or another camera of it"
for file in log.jsonl metrics.json checkpoint; do
  cp -r smaller pipe_$file && rm pipe_$file/$file && mkfifo pipe_$file/$file
  run train scene -o pipe_$file --resume --stop-at 70
  check "--resume with a pipe instead of $file: refused" fails_with "pipe_$file/$file: it is not a regular file"
done

# Names are bytes, which JSON must not change.
bytes=$'sc\xffne'
"$stipple" synth -o "$bytes" --views 8 --size 48x36 --format colmap-text >/dev/null 2>&1
mv "$bytes/images/0001.png" "$bytes/images/"$'0000\xfe.png'
LC_ALL=C sed -i $'s/0001.png/0000\xfe.png/' "$bytes/sparse/0/images.txt"
run train "$bytes" -o bytes $options --eval --steps 5
check "names that are not UTF-8: the scene trains" status_is 0
check "names that are not UTF-8: metrics.json has them" grep -q $'"name": "0000\xf4\x8f\xbf\xbe.png"' bytes/metrics.json
run train "$bytes" -o bytes --resume --stop-at 5
check "names that are not UTF-8: the run is resumed" status_is 0
run eval bytes --json
check "names that are not UTF-8: eval finds the scene" status_is 0

# Names reach the terminal without their control characters.
"$stipple" synth -o hostile --views 8 --size 48x36 --format colmap-text >/dev/null 2>&1
printf '\n9 1 0 0 0 0 0 0 1 \033]0;title\007\033[31mred\302\205\177.png\n\n' >>hostile/sparse/0/images.txt
run check hostile
check "names on the standard output: made visible" says '\x1b]0;title\x07\x1b[31mred\x85\x7f.png'
check "names on the standard output: no control characters" [ "$(tr -d '\n\t' <stdout | tr -d '[:print:]' | wc -c)" = 0 ]
run check hostile --json
check "names in JSON: control characters are written as JSON does" says '\u001b]0;title\u0007\u001b[31mred\u0085\u007f.png'
run train hostile -o hostile_run $options --steps 2
check "names in warnings: made visible" tells '\x1b]0;title\x07\x1b[31mred\x85\x7f.png'
check "names in warnings: no control characters" [ "$(tr -d '\n\t' <stderr | tr -d '[:print:]' | wc -c)" = 0 ]

finish
