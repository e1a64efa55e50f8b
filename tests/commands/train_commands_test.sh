#!/usr/bin/env bash
# train_commands_test.sh STIPPLE: training through the real command: its files, its exit statuses, and that nothing is lost:
# interrupted, killed, out of disk, resumed, it ends with the same bits.
. "$(dirname "$0")/command_test.sh"
trap 'umount "$work/disk" 2>/dev/null; rm -rf "$work"' EXIT
same() { cmp -s "$1/model.ply" "$2/model.ply"; }
options="--steps 400 --max-gaussians 3000 --checkpoint-seconds 0"

"$stipple" synth -o scene --views 10 --size 48x36 >/dev/null 2>&1

run train scene -o whole --eval $options --checkpoint-every 50
check "train succeeds" status_is 0
check "the run's files are there" [ "$(ls whole | xargs)" = "checkpoint log.jsonl metrics.json model.ply options.json" ]
check "held-out views are scored" says "held-out views"
check "the log has a line every 100 steps" [ "$(wc -l <whole/log.jsonl)" = 4 ]
check "the log has what it should" grep -q '"step":100,"seconds":.*"loss":.*"psnr":.*"gaussians":.*"ms":{.*"blend"' whole/log.jsonl
check "metrics have views" grep -q '"name": "0001.png"' whole/metrics.json
check "metrics have the memory of a device" grep -q '"peak_device_bytes": [0-9]' whole/metrics.json
check "options have every option" grep -q '"grow_gradient": 0.0002' whole/options.json
started=$(date +%s%3N)
run train scene -o again --eval $options
whole_ms=$(($(date +%s%3N) - started))
check "the same command gives the same model" same whole again
run train scene -o third --config whole/options.json
check "--config repeats a run" same whole third
run train scene -o whole --eval $options
check "a run is not overwritten" status_is 1
check "and the ways out are named" last_line_with "--resume to go on with it, or --overwrite to lose it"
run info whole/model.ply
check "the model can be read" status_is 0
run eval whole
check "eval succeeds" status_is 0
check "eval draws a contact sheet" [ -s whole/contact_sheet.png ]
run render whole --path orbit --frames 3 --size 64x48 -o frames
check "render --path succeeds" status_is 0
check "render --path leaves its frames" [ "$(ls frames/*.png | wc -l)" = 3 ]
run compare whole again -o compare.png
check "compare succeeds" status_is 0

run train scene -o parts --eval $options --stop-at 170
check "--stop-at ends early" says "170 steps"
run train scene -o parts --resume --stop-at 0
check "--resume goes on to the same bits" same whole parts
check "the resumed log is whole" [ "$(grep -c '"step":[1-4]00,' parts/log.jsonl)" = 4 ]
run train scene -o mcmc --strategy mcmc $options --stop-at 100
check "mcmc trains" status_is 0
run train scene -o fast --preset fast --stop-at 3
check "a preset sets steps and cap" grep -q '"steps": 7000' fast/options.json
run train scene -o absgrad --absgrad $options --stop-at 60
check "absgrad trains" grep -q '"grow_gradient": 0.0008' absgrad/options.json
run train scene -o bounded $options --stop-at 3 --backend cpu --max-vram 0.5 --deterministic
check "limits of a GPU do no harm elsewhere" grep -q '"max_vram": 0.5' bounded/options.json
check "nor does asking for the same bits" grep -q '"deterministic": true' bounded/options.json
run train scene -o limited $options --time-limit 0.05
check "--time-limit stops" says "the time limit was reached"
check "and saves" [ -s limited/checkpoint ]
run train scene -o good $options --target-psnr 5
check "--target-psnr stops" says "5 dB were reached at step"

run train scene -o x --stpes 5
check "a mistyped option is a misuse" status_is 2
run train scene -o x --steps many
check "a wrong value is a misuse" status_is 2
check "a wrong value is named" last_line_with "--steps: 'many' is not a whole number from 0 on"
run train scene -o x --sh-degree 4
check "a value out of range fails" last_line_with "--sh-degree must be from 0 to 3"
run train scene -o x --reset-every 3000
check "resets to what is pruned fail" last_line_with "--reset-opacity must be more than --prune-opacity"
run train nowhere -o x
check "no scene fails" status_is 1
run train scene -o nothing --resume
check "nothing to resume fails" last_line_with "there is no run to resume"
run train scene -o /proc/nowhere
check "a folder that cannot be made fails" status_is 1

for attempt in 1 2 3 4 5 6 7 8 9 10; do  # on a busy machine the run may be over before the signal comes
  rm -rf stopped
  "$stipple" train scene -o stopped --eval $options --checkpoint-every 50 >stdout 2>stderr &
  pid=$!
  while [ ! -e stopped/checkpoint ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
  kill -INT $pid 2>/dev/null; wait $pid; status=$?
  [ $status = 0 ] || break
done
check "Ctrl-C ends the run" status_is 1
check "Ctrl-C says how to go on" last_line_with "go on with --resume"
run train scene -o stopped --resume
check "and it goes on to the same bits" same whole stopped

# Killed at 20 random moments, each within a part of the time that a whole run takes here, and resumed each time; one that
# gets to its end all the same is begun anew.
RANDOM=7
resume() { [ ! -e killed/options.json ] || echo --resume; }
kills=0
while [ $kills -lt 20 ]; do
  "$stipple" train scene -o killed --eval $options --checkpoint-every 10 $(resume) >stdout 2>stderr &
  pid=$!
  sleep "$(awk -v ms=$((RANDOM % (whole_ms / 3 + 1))) 'BEGIN { print ms / 1000 }')"
  kill -KILL $pid 2>/dev/null && kills=$((kills + 1))
  wait $pid 2>/dev/null && rm -rf killed
done
run train scene -o killed --eval $options --checkpoint-every 10 $(resume)
check "killed 20 times, it ends with the same bits" same whole killed

"$stipple" train scene -o seldom --steps 30000 --max-gaussians 3000 --checkpoint-every 10 >stdout 2>stderr &
pid=$!
while [ ! -s seldom/log.jsonl ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -KILL $pid; wait $pid 2>/dev/null
check "a checkpoint is not written more than once a minute" [ ! -e seldom/checkpoint ]

cp whole/checkpoint good_checkpoint
head -c 1000 good_checkpoint >whole/checkpoint
run train scene -o whole --resume --stop-at 500
check "a cut checkpoint fails" last_line_with "the checkpoint ends early"
echo "something else" >whole/checkpoint
run train scene -o whole --resume --stop-at 500
check "another file fails" last_line_with "this is no checkpoint of Stipple"
{ head -c 8 good_checkpoint; printf '\011\000\000\000'; tail -c +13 good_checkpoint; } >whole/checkpoint
run train scene -o whole --resume --stop-at 500
check "a newer checkpoint fails" last_line_with "the checkpoint has version 9"
check "a checkpoint that cannot be used stays as it was" [ "$(head -c 9 whole/checkpoint | tail -c 1 | od -An -tu1 | xargs)" = 9 ]

mkdir disk
if mount -t tmpfs -o size=1500k tmpfs disk 2>/dev/null; then
  run train scene -o disk/run $options --checkpoint-every 10
  check "a full disk fails" status_is 1
  check "a full disk is named" last_line_with "No space left on device"
  if [ -e disk/run/checkpoint ]; then
    cp -r disk/run rescued
    run train scene -o rescued --resume --stop-at 120
    check "the last good checkpoint is intact" status_is 0
  fi
else
  echo "skipped: no right to mount a small disk"
fi
"$stipple" train scene -o vanished --steps 30000 --max-gaussians 3000 --checkpoint-every 20 --checkpoint-seconds 0 >stdout 2>stderr &
pid=$!
while [ ! -e vanished/checkpoint ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
rm -r vanished 2>/dev/null; rm -rf vanished; wait $pid; status=$?
check "a vanished folder fails" status_is 1
check "a vanished folder is named" last_line_with "vanished/"
run train scene -o gone $options --stop-at 30
rm -r gone/checkpoint && mkdir gone/checkpoint
run train scene -o gone --resume --stop-at 60
check "a checkpoint that is a folder fails" status_is 1

finish
