#!/usr/bin/env bash
# train_commands_test.sh STIPPLE: trains with the real command and checks its files and exit statuses. A run that is
# interrupted or out of disk space loses nothing: resumed, it ends with the bits of a run that was never stopped.
. "$(dirname "$0")/command_test.sh"
trap 'umount "$work/disk" 2>/dev/null; clean_up' EXIT
same() { cmp -s "$1/model.ply" "$2/model.ply"; }
steps_of() { sed -n 's/^ *"steps": \([0-9]*\),$/\1/p' "$1/metrics.json"; }
options="--steps 400 --max-gaussians 3000 --checkpoint-seconds 0"
# A run that cannot end before it is stopped, but refines its model every 33 steps all the same.
endless="--steps 1000000 --max-gaussians 3000 --refine-from 0 --refine-every 1 --sh-every 3"

"$stipple" synth -o scene --views 10 --size 48x36 >/dev/null 2>&1

run train scene -o whole --eval $options --checkpoint-every 50
check "train succeeds" status_is 0
check "the run folder has its files" [ "$(ls whole | xargs)" = "checkpoint log.jsonl metrics.json model.ply options.json" ]
check "held-out views are scored" says "held-out views"
check "the log has a line every 100 steps" [ "$(wc -l <whole/log.jsonl)" = 4 ]
check "a line of the log has all its fields" grep -q '"step":100,"seconds":.*"loss":.*"psnr":.*"gaussians":.*"ms":{.*"blend"' whole/log.jsonl
check "the metrics list the views" grep -q '"name": "0001.png"' whole/metrics.json
check "the metrics have the peak device memory" grep -q '"peak_device_bytes": [0-9]' whole/metrics.json
check "options.json has every option" grep -q '"grow_gradient": 0.0012' whole/options.json
run train nowhere -o unused $options
check "a missing scene: the error names it" fails_with "nowhere: there is no such folder"
check "a run that cannot start leaves no folder" [ ! -e unused ]
run train scene -o again --eval $options
check "the same command gives the same model" same whole again
run train scene -o third --config whole/options.json
check "--config repeats a run" same whole third
run train scene -o whole --eval $options
check "an existing run is not overwritten" status_is 1
check "an existing run: the error names --resume and --overwrite" last_line_with "continue it with --resume, replace it with --overwrite"
run info whole/model.ply
check "the model can be read" status_is 0
run eval whole
check "eval succeeds" status_is 0
check "eval writes a contact sheet" [ -s whole/contact_sheet.png ]
run render whole --path orbit --frames 3 --size 64x48 -o frames
check "render --path succeeds" status_is 0
check "render --path writes its frames" [ "$(ls frames/*.png | wc -l)" = 3 ]
run compare whole again -o compare.png
check "compare succeeds" status_is 0

run train scene -o parts --eval $options --stop-at 170
check "--stop-at ends the run early" says "170 steps"
run train scene -o parts --resume --stop-at 0
check "--resume reaches the same bits" same whole parts
check "the log of the resumed run is complete" [ "$(grep -c '"step":[1-4]00,' parts/log.jsonl)" = 4 ]
run train scene -o adc --strategy adc $options --stop-at 100
check "adc trains, with its own default threshold" grep -q '"grow_gradient": 0.0008' adc/options.json
run train scene -o fast --preset fast --stop-at 3
check "a preset sets the number of steps" grep -q '"steps": 7000' fast/options.json
run train scene -o plain --no-absgrad $options --stop-at 60
check "--no-absgrad trains, with its own default threshold" grep -q '"grow_gradient": 0.0002' plain/options.json
run train scene -o often --eval --eval-every 20 $options --stop-at 60
check "--eval-every scores the views in between" [ "$(grep -c '"step":' often/metrics.json)" = 3 ]
run train scene -o x --guard maybe
check "--guard: the error lists the values" last_line_with "--guard must be auto or off, not 'maybe'"
run train scene -o bounded $options --stop-at 3 --backend cpu --max-vram 0.5 --deterministic
check "--max-vram is accepted by the CPU backend" grep -q '"max_vram": 0.5' bounded/options.json
check "--deterministic is accepted by the CPU backend" grep -q '"deterministic": true' bounded/options.json
run train scene -o limited $endless --time-limit 0.05
check "--time-limit stops the run" says "the time limit was reached"
check "--time-limit saves a checkpoint" [ -s limited/checkpoint ]
run train scene -o good $options --target-psnr 5
check "--target-psnr stops the run" says "the target of 5 dB was reached at step"

cp whole/model.ply start.ply
"$stipple" clean start.ply -o start.splat >/dev/null 2>&1
psnr_of() { "$stipple" eval "$1" --json -o sheet.png | sed -n '0,/"psnr"/s/.*"psnr": \([0-9.]*\),/\1/p'; }
run train scene -o onwards --eval $options --start whole --stop-at 40
check "--start takes the folder of a run" status_is 0
check "--start is recorded with its whole path" grep -qF "\"start\": \"$work/whole/model.ply\"" onwards/options.json
check "--start begins where the model was" \
  awk -v a="$(psnr_of whole)" -v b="$(psnr_of onwards)" 'BEGIN {exit !(a > 10 && b > a - 0.3)}'
run train scene -o started --eval $options --start start.splat --stop-at 120
check "--start takes any format" status_is 0
run train scene -o halves --eval $options --start start.splat --stop-at 50
rm start.splat
run train scene -o halves --resume --stop-at 120
check "a run is resumed to the same bits without the model that it started from" same started halves
run train scene -o halves --resume --start start.ply
check "a resumed run cannot start from another model" fails_with "this run started from $work/start.splat; leave out --start"
run train scene -o parts --resume --start start.ply
check "a run that started from points cannot be resumed from a model" fails_with "this run started from the scene's points"
run train scene -o unused --start missing.spz
check "a missing model to start from: the error names it" fails_with "missing.spz"
run train scene -o unused --start scene/images/0001.png
check "what is no model to start from: the error names it" fails_with "0001.png: this is not a model in a known format"
sed 's/element vertex .*/element vertex 0/; /end_header/q' start.ply >empty.ply 2>/dev/null
run train scene -o unused --start empty.ply
check "an empty model to start from: the error says so" fails_with "the model to start from has no Gaussians (see --start)"
check "a run that cannot start leaves no folder behind" [ ! -e unused ]
run train scene -o smooth $options --antialiased --stop-at 20
run train scene -o unsmooth $options --start smooth --stop-at 1
check "a model for antialiased rendering in a run without it: a warning" tells "smooth/model.ply was trained with antialiasing, and this run is without it; --antialiased changes that"
run train scene -o still_smooth $options --antialiased --start smooth --stop-at 1
check "a model for antialiased rendering in a run with it: no warning" [ "$(grep -c "was trained" stderr)" = 0 ]
run info smooth
check "the model of an antialiased run says so" says "for antialiased rendering"
run train scene -o fewer --start start.ply --steps 400 --max-gaussians 100 --stop-at 3
check "--start with too many Gaussians: the least important are left out" tells "were left out: those with values that are not finite, and the least important beyond --max-gaussians"

run train scene -o x --stpes 5
check "mistyped option: usage error" status_is 2
run train scene -o x --steps many
check "invalid value: usage error" status_is 2
check "invalid value: the error names it" last_line_with "--steps must be a whole number that is not negative, not 'many'"
run train scene -o x --sh-degree 4
check "value out of range: the error gives the range" last_line_with "--sh-degree must be from 0 to 3"
run train scene -o x --strategy adc --reset-every 3000
check "opacity resets below the pruning threshold: refused" last_line_with "--reset-opacity must be greater than the opacity below which Gaussians are pruned"
run train nowhere -o x
check "missing scene: fails" status_is 1
run train scene -o nothing --resume
check "--resume without a run: the error says so" last_line_with "holds no run to resume"
run train scene -o /proc/nowhere
check "a folder that cannot be created: fails" status_is 1

start "$stipple" train scene -o stopped --eval $endless --checkpoint-every 50 --checkpoint-seconds 0
wait_until [ -e stopped/checkpoint ]
stop_with INT
check "Ctrl-C ends the run" status_is 1
check "Ctrl-C: the error says how to resume" last_line_with "continue it with --resume"
end=$(($(steps_of stopped) + 50))
run train scene -o stopped --resume --stop-at $end
run train scene -o straight --eval $endless --stop-at $end
check "the interrupted run is resumed to the same bits" same straight stopped

check "the default interval between checkpoints is a minute" grep -q '"checkpoint_seconds": 60.0' fast/options.json
start "$stipple" train scene -o seldom $endless --checkpoint-every 10 --checkpoint-seconds 86400
wait_until [ -s seldom/log.jsonl ]  # the first line is written after 100 steps
stop_with KILL
check "no checkpoint is written before the interval has passed" [ ! -e seldom/checkpoint ]

cp whole/checkpoint good_checkpoint
head -c 1000 good_checkpoint >whole/checkpoint
run train scene -o whole --resume --stop-at 500
check "truncated checkpoint: the error says so" last_line_with "the checkpoint is truncated"
check "truncated checkpoint: the error says what is left and how to start again" last_line_with \
  "whole/model.ply is the last model that was saved, and --overwrite --config whole/options.json starts the run again"
echo "something else" >whole/checkpoint
run train scene -o whole --resume --stop-at 500
check "a file that is not a checkpoint: the error says so" last_line_with "this file is not a Stipple checkpoint"
{ head -c 8 good_checkpoint; printf '\011\000\000\000'; tail -c +13 good_checkpoint; } >whole/checkpoint
run train scene -o whole --resume --stop-at 500
check "checkpoint of a newer version: the error gives the version" last_line_with "the checkpoint has version 9"
check "an unusable checkpoint stays as it was" [ "$(head -c 9 whole/checkpoint | tail -c 1 | od -An -tu1 | xargs)" = 9 ]

mkdir disk
if mount -t tmpfs -o size=1500k tmpfs disk 2>/dev/null; then
  run train scene -o disk/run $options --checkpoint-every 10
  check "full disk: fails" status_is 1
  check "full disk: the error says so" last_line_with "No space left on device"
  if [ -e disk/run/checkpoint ]; then
    cp -r disk/run rescued
    run train scene -o rescued --resume --stop-at 120
    check "full disk: the last complete checkpoint is intact" status_is 0
  fi
else
  echo "skipped: mounting a small disk is not permitted"
fi
start "$stipple" train scene -o vanished $endless --checkpoint-every 20 --checkpoint-seconds 0
wait_until [ -e vanished/checkpoint ]
mv vanished elsewhere  # atomic, whereas rm -r would race with the run, which creates files in the folder
wait_for_end
check "vanished folder: fails" status_is 1
check "vanished folder: the error names it" last_line_with "vanished/"
run train scene -o gone $options --stop-at 30
rm -r gone/checkpoint && mkdir gone/checkpoint
run train scene -o gone --resume --stop-at 60
check "a checkpoint that is a folder: fails" status_is 1

# Messages that cannot be delivered are dropped, and never land in other files.
is_whole() { status_is 0 && [ -s "$1/model.ply" ] && [ "$(grep -c '^{"step"' "$1/log.jsonl")" = "$(wc -l <"$1/log.jsonl")" ]; }
if [ -e /dev/full ]; then
  "$stipple" train scene -o full_stderr $options --stop-at 20 >stdout 2>/dev/full; status=$?
  check "an unwritable standard error loses nothing" is_whole full_stderr
fi
"$stipple" train scene -o no_stderr $options --stop-at 20 >stdout 2>&-; status=$?
check "a closed standard error loses nothing" is_whole no_stderr
"$stipple" train scene -o no_files $options --stop-at 20 <&- >&- 2>&-; status=$?
check "no standard files lose nothing" is_whole no_files

finish
