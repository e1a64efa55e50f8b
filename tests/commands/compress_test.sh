#!/usr/bin/env bash
# compress_test.sh STIPPLE: compresses the model of a small run to a size and to a quality, with and without its scene, and
# checks the files, what is printed, and the errors for wrong input.
. "$(dirname "$0")/command_test.sh"
size_of() { wc -c <"$1"; }
count_of() { "$stipple" info "$1" --json | sed -n 's/^ *"count": \([0-9]*\).*/\1/p'; }
# value KEY: a number of the "after" part of the JSON.
value() { sed -n "/\"after\"/,/}/s/.*\"$1\": \([-0-9.]*\).*/\1/p" stdout; }
number() { sed -n "s/^ *\"$1\": \([-0-9.]*\).*/\1/p" stdout; }
at_least() { awk "BEGIN {exit !($1 >= $2)}"; }

"$stipple" synth -o scene --views 9 --size 64x48 >/dev/null 2>&1 || exit 1
"$stipple" train scene -o run --steps 150 --backend cpu --eval >/dev/null 2>&1 || exit 1
full=$(size_of run/model.ply)

run compress run -o small.ply --target-size 200kB --backend cpu --json --tune-steps 100
check "a size: succeeds" status_is 0
check "a size: the file is no larger" [ "$(size_of small.ply)" -le 200000 ]
check "a size: the file is nearly as large" [ "$(size_of small.ply)" -ge 180000 ]
check "a size: JSON has the size" [ "$(value bytes)" = "$(size_of small.ply)" ]
check "a size: JSON has the count" [ "$(value count)" = "$(count_of small.ply)" ]
check "a size: tuning on the photos helps" at_least "$(value psnr)" "$(number psnr_before_tuning) + 0.5"
check "a size: rated on what the run held out" says "held-out photos"
psnr=$(value psnr)
"$stipple" eval small.ply scene --backend cpu --json >eval.json 2>/dev/null
check "a size: eval gives the same PSNR" at_least 0.02 "$psnr - $(sed -n 's/^  "psnr": \([0-9.]*\).*/\1/p' eval.json)"
cp small.ply first.ply
run compress run -o small.ply --target-size 200kB --backend cpu --tune-steps 100
check "the same again gives the same file" cmp small.ply first.ply
check "as text: a table with both models" says "run/model.ply"
check "as text: tuning is mentioned" says "before tuning"
check "no trial file stays behind" [ "$(ls -d small.ply.* 2>/dev/null | wc -l)" = 0 ]

run compress run/model.ply -o colors.splat --target-size 20kB --backend cpu
check "a file without a scene: succeeds" status_is 0
check "a file without a scene: the file is no larger" [ "$(size_of colors.splat)" -le 20000 ]
check "a file without a scene: rated by its own pictures" says "pictures of the whole model"
check "a file without a scene: not tuned" [ "$(grep -c tuning stdout stderr | cut -d: -f2 | xargs)" = "0 0" ]
run compress run/model.ply -o levels.lod/ --target-size 60kB --backend cpu --json
check "a folder: succeeds" status_is 0
check "a folder: all its files count" [ "$(value bytes)" = "$(find levels.lod -type f -exec cat {} + | wc -c)" ]
check "a folder: its files are no larger" [ "$(value bytes)" -le 60000 ]
run compress run/model.ply -o whole.ply --target-size 1GB --backend cpu
check "what fits is kept whole" cmp whole.ply run/model.ply

"$stipple" eval run --backend cpu --json >eval.json 2>/dev/null
least=$(sed -n 's/^  "psnr": \([0-9.]*\).*/\1/p' eval.json | awk '{printf "%.2f", $1 - 0.5}')
run compress run -o good.ply --target-psnr "$least" --backend cpu --json --tune-steps 50
check "a quality: succeeds" status_is 0
check "a quality: is reached" at_least "$(value psnr)" "$least - 0.005"
check "a quality: in fewer bytes" [ "$(size_of good.ply)" -lt $((full * 9 / 10)) ]

# model SCALE MIDDLE VALUE: 25 Gaussians of so small a scale around a point, and one with a value that is not finite.
model() {
  echo ply; echo format ascii 1.0; echo element vertex 26
  for p in x y z opacity f_dc_0 f_dc_1 f_dc_2 scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3; do
    echo "property float $p"
  done
  echo end_header
  for x in -2 -1 0 1 2; do for y in -2 -1 0 1 2; do
    awk "BEGIN {s = log(0.3 * $1); print $2 + $1 * $x, $2 + $1 * $y, $2, 3, $x, $y, 0, s, s, s, 1, 0, 0, 0}"
  done; done
  echo "$2 $2 $2 0 0 0 0 $3 0 0 1 0 0 0"
}
model 0.001 5 nan >tiny.ply
run compress tiny.ply -o few.ply --target-size 1.5kB --backend cpu
check "a tiny model far from the origin is seen" [ "$(awk '$1 == "few.ply" {print ($5 < 60)}' stdout)" = 1 ]
check "what is left out is said" tells "1 of the 26 Gaussians in tiny.ply have values that are not finite"
model 1 900 100 >far.ply  # e^100 is no float
run compress far.ply -o x.ply --target-size 1MB --scene scene --backend cpu
check "a model that no photo shows: the error says why" fails_with "no Gaussian of the model is seen from the cameras"
model 0.3 0 100 >near.ply
run compress near.ply -o near_too.ply --target-size 1.5MiB --scene scene --backend cpu --tune-steps 3
check "a Gaussian that cannot be trained is left out" [ "$(count_of near_too.ply)" = 25 ]
awk '/element vertex/ {$3 = 0} {print} /end_header/ {exit}' tiny.ply >empty.ply
run compress empty.ply -o x.ply --target-size 1MB --backend cpu
check "an empty model: the error names it" fails_with "empty.ply: the model has no Gaussian"

run compress run -o x.ply --target-psnr 90 --backend cpu --tune-steps 0
check "a quality that cannot be reached: the error says what can" fails_with "the goal of 90.00 dB cannot be reached"
run compress run -o x.ply --target-size 10 --backend cpu
check "a size that is too small: the error says what is possible" fails_with "the goal of 10 bytes is too small"
run compress run -o x.ply
check "no goal: usage error" status_is 2
run compress run -o x.ply --target-size 1MB --target-psnr 30
check "two goals: usage error" status_is 2
run compress run -o x.ply --target-size big
check "a size that is no number: usage error" status_is 2
mkdir folder
run convert near_too.ply folder/meta.json
check "a model in a folder is written" [ -s folder/means_l.webp ]
run info folder --json
check "info of a model in a folder has the size of all its files" says "\"bytes\": $(cat folder/* | wc -c),"
for command in "render folder --path orbit -o frames --frames 1 --size 32x24 --scene scene" "eval folder scene" "clean folder -o x.ply" \
    "compress folder -o smaller/meta.json --target-size 100kB"; do
  mkdir -p smaller
  run $command --backend cpu
  check "a model in a folder: ${command%% *} succeeds" status_is 0
done
check "a compressed model in a folder is no larger than allowed" [ "$(cat smaller/* | wc -c)" -le 100000 -a -s smaller/meta.json ]
run render folder --path orbit -o frames2 --backend cpu
check "a model in a folder has no scene: the error says how to name it" tells "name the scene with --scene"
rm -f x.*

for wrong in "--target-size 0" "--target-size -5" "--target-size nan" "--target-psnr 0" "--tune-steps -1"; do
  run compress run -o x.ply --target-size 1MB $wrong
  check "$wrong: usage error that names the option" [ "$status" = 2 -a "$(grep -c -- "${wrong%% *}" stderr)" = 1 ]
done
run compress nowhere.ply -o x.ply --target-size 1MB
check "missing model: the error names it" fails_with "nowhere.ply"
run compress run -o x.txt --target-size 1MB
check "wrong name of the output: the error names it" fails_with "x.txt: the name of a model must end in one of"
run compress run/model.ply -o x.ply --target-size 1MB --scene nowhere
check "missing scene: the error says how to name it" fails_with "there is no scene at nowhere; name its folder with --scene"
check "nothing was written on errors" [ "$(ls x.* 2>/dev/null | wc -l)" = 0 ]

finish
