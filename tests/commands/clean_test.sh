#!/usr/bin/env bash
# clean_test.sh STIPPLE: cleans small models with and without a scene, and checks what is printed, the files that are
# written, and the errors for every kind of wrong input.
. "$(dirname "$0")/command_test.sh"
is_png() { [ "$(head -c 4 "$1" | tail -c 3)" = PNG ]; }
count_of() { "$stipple" info "$1" --json | sed -n 's/.*"count": \([0-9]*\).*/\1/p'; }

"$stipple" synth -o scene --views 9 --size 48x36 >/dev/null 2>&1 || exit 1
"$stipple" train scene -o run --steps 30 --backend cpu --eval >/dev/null 2>&1 || exit 1

# A model without photos: a lattice of 125 small Gaussians, with one far away, one veil, one needle and one broken.
model() {
  echo ply; echo format ascii 1.0; echo element vertex 129
  for p in x y z f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3; do
    echo "property float $p"
  done
  echo end_header
  for x in -2 -1 0 1 2; do for y in -2 -1 0 1 2; do for z in -2 -1 0 1 2; do
    echo "$x $y $z 0 0 0 0 -2 -2 -2 1 0 0 0"
  done; done; done
  echo "500 0 0 0 0 0 0 -2 -2 -2 1 0 0 0"
  echo "0 0 0 0 0 0 0 2 2 2 1 0 0 0"
  echo "0 0 0 0 0 0 0 1 -5 -5 1 0 0 0"
  echo "nan 0 0 0 0 0 0 -2 -2 -2 1 0 0 0"
}
model >model.ply

run clean model.ply -o out.ply
check "clean of a model succeeds" status_is 0
check "clean counts what it found" [ "$(awk 'NR > 1 && NR < 8 {print $(NF - 1)}' stdout | xargs)" = "1 1 1 1 0 0" ]
check "clean says that it had no photos" says "judged by shape alone"
check "clean says how many remain" says "out.ply: 125 Gaussians, 4 of 129 removed"
check "the cleaned model has the rest" [ "$(count_of out.ply)" = 125 ]
run clean out.ply -o again.ply
check "a clean model stays as it is" cmp out.ply again.ply
run clean model.ply -o model.ply --report shape.png
check "clean may replace its input" [ "$(count_of model.ply)" = 125 ]
check "--report works without a scene" is_png shape.png
model >model.ply

run info run
check "info describes the model of a run" grep -qE "^format +3DGS .ply, [0-9]+ [KM]iB$" stdout
run info model.ply
check "info counts the defects" says "1 far outside, 1 oversized, 1 spike, 0 floater"
run info model.ply --json
check "info --json counts the defects" says '"far_outside": 1,'
check "info --json names the format" says '"format": "3DGS .ply"'
check "info --json has the size of the file" says "\"bytes\": $(wc -c <model.ply),"
check "info --json: what the file does not say is null" says '"antialiased": null'

run clean run -o cleaned.ply --report report.png --backend cpu
check "clean of a run succeeds" status_is 0
check "clean of a run shows the cost on the photos" says "PSNR on 7 training photos:"
check "clean writes a report" is_png report.png
check "the cleaned model can be read" [ "$(count_of cleaned.ply)" -gt 100 ]
run clean run/model.ply --scene scene -o same.ply --backend cpu
check "a model with its scene gives the same result as its run" cmp cleaned.ply same.ply

sed 's/element vertex .*/element vertex 0/; /end_header/q' model.ply >empty.ply
run clean empty.ply -o nothing.ply
check "an empty model stays empty" [ "$(count_of nothing.ply)" = 0 ]
run clean empty.ply -o nothing.ply --scene scene --backend cpu --report empty.png
check "an empty model is no error with a scene" status_is 0

run clean nowhere.ply -o x.ply
check "missing model: the error names it" fails_with "nowhere.ply"
run clean scene -o x.ply
check "a folder that is no run: the error names the file" fails_with "scene/options.json"
run clean model.ply -o x.ply --scene nowhere
check "missing scene: the error says how to name it" fails_with "there is no scene at nowhere; name its folder with --scene"
run clean model.ply -o x.txt
check "wrong name of the model: the error says what is right" fails_with "x.txt: the name of a model must end in one of"
run clean model.ply -o x.ply --report x.jpg
check "wrong name of the report: the error says what is right" fails_with "x.jpg: the name of the report must end in .png"
run clean model.ply -o nowhere/x.ply
check "unwritable output: the error names it" fails_with "nowhere/x.ply"
run clean model.ply
check "no output: usage error" status_is 2
run clean model.ply -o x.ply --max-loss -1
check "negative limit: usage error" status_is 2
check "nothing was written on errors" [ "$(ls x.* nowhere* 2>/dev/null | wc -l)" = 0 ]

# Interrupted while it works: 2,000 veils over every pixel give it enough to do.
"$stipple" synth -o large --views 9 --size 320x240 >/dev/null 2>&1 || exit 1
{ sed 's/element vertex .*/element vertex 2000/; /end_header/q' model.ply
  seq 2000 | awk '{print $1 / 2000, 0, 0, 0, 0, 0, -4, 2, 2, 2, 1, 0, 0, 0}'; } >veils.ply
has_started() { [ "/proc/$pid/exe" -ef "$stipple" ]; }  # until then, the process is the shell, which catches INT, too
catches_int() { has_started && [ $((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$pid/status") & 2)) != 0 ]; }
start "$stipple" clean veils.ply --scene large -o x.ply --backend cpu
wait_until catches_int
stop_with INT
check "interrupted: fails" status_is 1
check "interrupted: says that nothing was written" tells "interrupted; nothing was written"
check "interrupted: nothing was written" [ ! -e x.ply ]

finish
