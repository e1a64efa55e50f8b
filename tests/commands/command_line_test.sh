#!/usr/bin/env bash
# command_line_test.sh STIPPLE: the basic commands and their errors. Every case runs the real command and checks the exit
# status (1 for a failure, 2 for a usage error), the one line on stderr, and the files left behind.
. "$(dirname "$0")/command_test.sh"

run --help
check "--help succeeds" status_is 0
for command in check compare completion convert devices eval export-html fit info render sfm synth train view; do
  check "--help names $command" says "$command"
  run $command --help; check "$command --help succeeds" status_is 0
  run --help
done
run --version
check "--version prints the version" grep -qE '^stipple [0-9]+\.[0-9]+\.[0-9]+$' stdout
run
check "without a command: usage error" status_is 2
for command in sfm train view render; do check "without a command: shows $command among the first steps" says "stipple $command"; done
run fit --gausians 10 -o out
check "mistyped option: usage error" status_is 2
check "mistyped option: the error names it and suggests the nearest" \
  one_line_with "there is no option --gausians; did you mean --gaussians?"
run train scene -o out --stpes=3
check "mistyped option with a value: the error suggests the nearest" one_line_with "--stpes; did you mean --steps?"
run train scene -o out --wheels 4
check "option like no other: the error suggests nothing" one_line_with "there is no option --wheels (see stipple train --help)"
run trian scene
check "mistyped command: the error suggests the nearest" one_line_with "there is no command 'trian'; did you mean train?"
run info a.ply b.ply
check "argument too many: the error names it" one_line_with "'b.ply' was not expected"
run train scene -o out --steps 0
check "option out of range: usage error" status_is 2
check "option out of range: the error names the flag" one_line_with "--steps must be at least 1"
check "errors have no colour unless stderr is a terminal" [ "$(grep -c $'\033' stderr)" = 0 ]
if command -v script >/dev/null; then
  env -u NO_COLOR script -qec "$stipple trian" typescript >/dev/null 2>&1
  check "errors are coloured on a terminal" grep -q $'\033' typescript
  NO_COLOR=1 script -qec "$stipple trian" typescript >/dev/null 2>&1
  check "NO_COLOR turns colour off" [ "$(grep -c $'\033' typescript)" = 0 ]
fi
run fot
check "unknown command: usage error" status_is 2
check "unknown command: the error names it" one_line_with "fot"
run fit --builtin --steps many -o out
check "invalid value: usage error" status_is 2
check "invalid value: the error names it" one_line_with "many"
run fit -o out
check "fit without a picture fails" status_is 1
check "fit without a picture: the error suggests --builtin" one_line_with "--builtin"
run fit nosuch.jpg -o out
check "missing picture: fails" status_is 1
check "missing picture: the error names it" one_line_with "nosuch.jpg"
check "missing picture: leaves no output" [ ! -e out ]
run info nosuch.ply
check "missing model: fails" status_is 1
check "missing model: the error names it" one_line_with "nosuch.ply"

run fit --builtin --gaussians 50 --steps 5 -o out
check "fit succeeds" status_is 0
check "fit prints where the results are" says "out: 50 Gaussians, 5 steps"
check "fit writes four files" [ "$(ls out | xargs)" = "camera.json model.ply result.png side_by_side.png" ]
run info out/model.ply
check "info succeeds" status_is 0
check "info prints the number of Gaussians" says "50 Gaussians, SH degree 0"
check "info reports no non-finite values" says "non-finite  none"
run info out/model.ply --json
check "info --json has the number of Gaussians" says '"count": 50'
run render out/model.ply --camera out/camera.json -o again.png
check "render succeeds" status_is 0
check "render and fit produce identical images" cmp again.png out/result.png
run render out/model.ply --camera out/camera.json -o image.npy --depth depth.npy --alpha alpha.npy --background 1,0.5,0
check "render writes .npy arrays" status_is 0
check "the image array is height x width x 3, float32" grep -qaF "'descr': '<f4', 'fortran_order': False, 'shape': (512, 768, 3)" image.npy
check "the depth array is height x width" grep -qaF "(512, 768)" depth.npy
check "the alpha array is height x width" grep -qaF "(512, 768)" alpha.npy
run render out/model.ply --camera out/camera.json -o inverse.png --inverse-depth inverse.npy
check "render writes the inverse depth" [ "$status" = 0 -a -s inverse.npy ]

run render out/model.ply --camera out/camera.json -o image.bmp
check "unknown image type: fails" status_is 1
check "unknown image type: the error lists the supported ones" one_line_with ".png"
run render out/model.ply --camera out/camera.json -o no/such/folder/image.png
check "unwritable output: fails" status_is 1
check "unwritable output: the error names it" one_line_with "no/such/folder/image.png"
run render out/model.ply --camera nosuch.json -o x.png
check "missing camera: fails" status_is 1
check "missing camera: the error names it" one_line_with "nosuch.json"
echo '{"width": 64, "height": 48, "fy": 50}' >bad.json
run render out/model.ply --camera bad.json -o x.png
check "incomplete camera: fails" status_is 1
check "incomplete camera: the error names the missing field" one_line_with '"fx"'
run render out/model.ply --camera out/camera.json -o x.png --background 1,2
check "incomplete background: usage error" status_is 2
check "incomplete background: the error shows the format" one_line_with "red,green,blue"
run render --background 1,0,0 out/model.ply --camera out/camera.json -o red.png
check "the background may precede the model" status_is 0
run render out/model.ply --camera out/camera.json -o same.npy --alpha same.npy
check "the same file for two outputs: fails" status_is 1
run fit --builtin --steps 2.5 -o x
check "fractional number of steps: usage error" one_line_with "whole number"
"$stipple" info out/model.ply >/dev/full 2>stderr; status=$?
check "a full standard output: fails" status_is 1
run render out/model.ply --camera out/camera.json -o x.png --backend abacus
check "unknown backend: fails" status_is 1
check "unknown backend: the error lists the available ones" one_line_with "available are "
check "unknown backend: the cpu is among them" tells "cpu"
head -c 3000 out/model.ply >short.ply
run info short.ply
check "truncated model: fails" status_is 1
check "truncated model: the error names the vertex" one_line_with "short.ply: vertex"
check "failures leave no partial files" [ -z "$(ls | grep -E 'x\.png|\.part|image\.bmp')" ]
run fit out/result.png -o out/result.png --steps 1
check "an output folder that is a file: fails" status_is 1
run devices
check "devices succeeds" status_is 0
check "devices lists the cpu" says "cpu:"
if says "cuda:"; then  # a build with CUDA: hide the GPU, if there is one
  CUDA_VISIBLE_DEVICES="" run devices
  check "devices succeeds without a GPU" status_is 0
  check "devices reports that there is no GPU" grep -qxF "cuda: no CUDA device" stdout
  check "devices still lists the cpu" says "cpu:"
  CUDA_VISIBLE_DEVICES="" run render out/model.ply --camera out/camera.json -o x.png --backend cuda
  check "backend without a device: fails" status_is 1
  check "backend without a device: the error says why" one_line_with "no CUDA device"
  check "backend without a device: writes no image" [ ! -e x.png ]
  CUDA_VISIBLE_DEVICES="" run render out/model.ply --camera out/camera.json -o best.png --backend best
  check "--backend best falls back to another backend" status_is 0
else
  run render out/model.ply --camera out/camera.json -o x.png --backend cuda
  check "a build without CUDA: the error says so" one_line_with "this build has no backend 'cuda'"
fi

start "$stipple" fit --builtin --gaussians 500 --steps 10000000 -o stopped
wait_until grep -q "PSNR" stderr  # fit prints its first line of progress after five seconds
stop_with TERM
check "an interrupted fit fails" status_is 1
check "an interrupted fit saves its results so far" [ -s stopped/model.ply -a -s stopped/side_by_side.png ]
check "an interrupted fit names the folder" grep -q "interrupted after .* saved in stopped" stderr

finish
