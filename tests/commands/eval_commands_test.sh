#!/usr/bin/env bash
# eval_commands_test.sh STIPPLE: runs eval and compare on a small scene and on run folders made here, and checks what they
# print, the images they write, and their errors for every kind of wrong input.
. "$(dirname "$0")/command_test.sh"
is_png() { [ "$(head -c 4 "$1" | tail -c 3)" = PNG ]; }

"$stipple" synth -o scene --views 12 --size 64x48 >/dev/null 2>&1 || exit 1
"$stipple" fit --builtin --gaussians 50 --steps 5 -o fit >/dev/null 2>&1 || exit 1

options() { # options SCENE MAX_RESOLUTION EVAL
  echo '{"version": "0.1.0", "backend": "cpu", "machine": "any", "scene": "'"$1"'",
         "scene_options": {"max_resolution": '"$2"', "downscale": 1, "images": "", "alpha": "weight", "random_points": 1000},
         "train": {"steps": 200, "seed": 1, "eval": '"$3"'}}'
}
mkdir -p run other old/run
cp fit/model.ply run/
options "$work/scene" 1600 true >run/options.json
cat >run/log.jsonl <<'END'
{"step": 100, "seconds": 3.5, "loss": 0.08, "psnr": 21.5, "gaussians": 1000, "ms": {"project": 0.3}}
{"step": 150, "seconds": 5.0, "lo
not JSON at all

[1, 2, 3]
{"seconds": 6}
{"step": 200, "seconds": 7.25, "loss": 0.05, "psnr": null, "gaussians": 1500}
{"step": 300, "seconds": 9.0, "psnr": 25
END
cat >run/metrics.json <<'END'
{"steps": 300, "gaussians": 1800, "seconds": 9.5, "peak_memory_bytes": 123456789,
 "evaluations": [{"step": 100, "seconds": 3.5, "gaussians": 1000, "psnr": 20.0, "ssim": 0.7, "views": []},
                 {"step": 300, "seconds": 9.5, "gaussians": 1800, "psnr": 24.321, "ssim": 0.81234, "views": []}]}
END
sed 's/"psnr": 2/"psnr": 3/' run/log.jsonl | grep gaussians >other/log.jsonl
cp other/log.jsonl old/run/

run eval run
check "eval succeeds" status_is 0
check "eval prints a row for each test view, then the mean" \
  [ "$(awk '{print $1}' stdout | xargs)" = "view 0001.png 0009.png mean" ]
check "the mean row is the mean of the views" awk 'NR == 2 || NR == 3 {p += $2; s += $3}
  $1 == "mean" {exit !((p / 2 - $2)^2 < 1e-3 && (s / 2 - $3)^2 < 1e-6)}' stdout
check "eval writes a contact sheet" is_png run/contact_sheet.png
check "the contact sheet has two rows of three images" [ "$(size_of run/contact_sheet.png)" = 1008x624 ]
run eval run --json -o sheet.png
check "eval --json succeeds" status_is 0
check "eval --json names the split" says '"split": "test"'
check "eval --json names views" says '"name": "0009.png"'
check "eval -o sets the path of the contact sheet" cmp sheet.png run/contact_sheet.png
run eval run --train -o train.png
check "--train scores the other ten views" [ "$(wc -l <stdout)" = 12 ]
run eval fit/model.ply scene
check "eval of a model succeeds" status_is 0
check "eval of a model scores the test views" says "0009.png"
check "eval of a model writes no contact sheet without -o" [ "$(ls fit scene | grep -c contact)" = 0 ]

run eval fit/model.ply
check "model without a scene: fails" status_is 1
check "model without a scene: the error says how to give one" one_line_with "give the scene's folder as the second argument"
run eval missing.ply scene
check "missing model: the error names it" fails_with "missing.ply"
cp fit/model.ply renamed
run eval renamed scene --antialiased
check "a model is recognised whatever its name" status_is 0
cp stdout antialiased
sed 's/^element vertex/comment SplatRenderMode: mip\n&/' fit/model.ply >says.ply
run eval renamed scene --no-antialiased
check "--antialiased changes what is scored" [ "$(cmp -s stdout antialiased; echo $?)" = 1 ]
cp stdout plain
run info says.ply --json
check "info says that a model is for antialiased rendering" says '"antialiased": true'
run eval says.ply scene
check "a file that says so is scored antialiased" cmp stdout antialiased
run eval says.ply scene --no-antialiased
check "--no-antialiased overrides what the file says" cmp stdout plain
run render says.ply --camera fit/camera.json -o says.png
run render fit/model.ply --camera fit/camera.json -o plain.png
run render fit/model.ply --camera fit/camera.json -o antialiased.png --antialiased
check "a file that says so is rendered antialiased" cmp says.png antialiased.png
run render says.ply --camera fit/camera.json -o overridden.png --no-antialiased
check "a flag overrides what the file says for render, too" cmp overridden.png plain.png
check "antialiasing changes the image" [ "$(cmp -s plain.png antialiased.png; echo $?)" = 1 ]
run clean says.ply -o cleaned.compressed.ply
run info cleaned.compressed.ply --json
check "clean writes what the file said in another format" says '"antialiased": true'
run eval nowhere
check "missing run: fails" status_is 1
check "missing run: the error names it" one_line_with "nowhere: no such folder"
run eval other
check "run without a model: fails" status_is 1
check "run without a model: the error says so" one_line_with "other: there is no model.ply"
run eval run -o nowhere/sheet.png
check "unwritable contact sheet: the error names it" one_line_with "nowhere/sheet.png"
run eval run --backend abacus
check "unknown backend: the error names it" one_line_with "this build has no backend 'abacus'"
mv scene moved
run eval run
check "moved scene: fails" status_is 1
check "moved scene: the error says how to give the scene" one_line_with "scene; give the scene's folder as the second argument"
run eval run moved
check "the scene may be given as an argument" status_is 0
options "$work/moved" 32 false >run/options.json
run eval run
check "eval uses the run's photo options" status_is 0
check "smaller photos give another contact sheet" [ "$(cmp -s sheet.png run/contact_sheet.png; echo $?)" = 1 ]
check "eval warns if the run trained on its test views" tells "trained on its test views"
options "$work/moved" -5 true >run/options.json
run eval run
check "option out of range: the error names it" one_line_with "max_resolution must be a whole number that is not negative, not '-5'"
echo '{"scene": ' >run/options.json
run eval run
check "truncated options.json: fails" status_is 1
check "truncated options.json: the error names it" one_line_with "run/options.json"

run compare run/ other
check "compare succeeds" status_is 0
check "compare: a run with metrics" grep -qE '^run +300 +1800 +9\.5 +118 MiB +24\.32 +0\.8123$' stdout
check "compare: a run without metrics shows what its log has" grep -qE '^other +200 +1500 +7\.2 +- +- +-$' stdout
check "compare counts the damaged lines of a log" one_line_with "run/log.jsonl: 5 truncated or damaged lines were ignored"
run compare run other --json -o compare.png
check "compare --json succeeds" status_is 0
check "compare --json has the numbers" says '"peak_memory_bytes": 123456789,'
check "compare --json: unknown values are null" says '"ssim": null'
check "compare -o writes a plot" is_png compare.png
run compare run old/run
check "runs with the same name are listed by their paths" grep -qE '^old/run +200' stdout
run compare other nowhere
check "compare with a missing run: fails" status_is 1
check "compare with a missing run: the error names it" one_line_with "nowhere"
mkdir empty
run compare empty
check "compare with an empty folder: the error says what is missing" one_line_with "empty: there is no log.jsonl"
echo '{"steps": 3' >other/metrics.json
run compare other
check "truncated metrics.json: the error names it" one_line_with "other/metrics.json"
run compare
check "compare without runs: usage error" status_is 2

# Copying or printing a value that is nested this deeply would overflow the stack.
deep=$(printf '[%.0s' {1..200000})
closed=$(printf ']%.0s' {1..200000})
mkdir deep
cp fit/model.ply deep/
echo '{"scene": "scene", "train": {"steps": '"$deep$closed"'}}' >deep/options.json
echo '{"steps": 300, "evaluations": '"$deep$closed"'}' >deep/metrics.json
{ echo '{"step": '"$deep$closed"'}'; echo '{"step": 100, "seconds": 3.5, "psnr": 21.5}'; } >deep/log.jsonl
run eval deep
check "deeply nested options.json: the error names it" fails_with "deep/options.json: the file is truncated or malformed"
run train moved -o new --config deep/options.json
check "deeply nested --config: the error names it" fails_with "this is not the options.json of a training run"
run compare deep
check "deeply nested metrics.json: the error names it" fails_with "deep/metrics.json: the file is truncated or malformed"
rm deep/metrics.json
run compare deep
check "deeply nested line of log.jsonl: it is ignored" status_is 0

finish
