#!/usr/bin/env bash
# command_line_test.sh STIPPLE: the command as a newcomer meets it. Every case runs it for real and looks at the exit
# status, at the one line on stderr, and at the files that are left.
. "$(dirname "$0")/command_test.sh"

run --help
check "--help succeeds" status_is 0
for command in check compare devices eval fit info render sfm synth train; do
  check "--help names $command" says "$command"
  run $command --help; check "$command --help succeeds" status_is 0
  run --help
done
run --version
check "--version says a version" grep -qE '^stipple [0-9]+\.[0-9]+\.[0-9]+$' stdout
run
check "no command is a misuse" status_is 2
check "no command prints the help" says "fit"
run fit --gausians 10 -o out
check "a mistyped option is a misuse" status_is 2
check "a mistyped option is named" one_line_with "--gausians"
run fot
check "an unknown command is a misuse" status_is 2
check "an unknown command is named" one_line_with "fot"
run fit --builtin --steps many -o out
check "a wrong value is a misuse" status_is 2
check "a wrong value is named" one_line_with "many"
run fit -o out
check "no picture fails" status_is 1
check "no picture: the way out is named" one_line_with "--builtin"
run fit nosuch.jpg -o out
check "a missing picture fails" status_is 1
check "a missing picture is named" one_line_with "nosuch.jpg"
check "nothing was left behind" [ ! -e out ]
run info nosuch.ply
check "a missing model fails" status_is 1
check "a missing model is named" one_line_with "nosuch.ply"

run fit --builtin --gaussians 50 --steps 5 -o out
check "fit succeeds" status_is 0
check "fit says where the results are" says "out: 50 Gaussians, 5 steps"
check "fit leaves four files" [ "$(ls out | xargs)" = "camera.json model.ply result.png side_by_side.png" ]
run info out/model.ply
check "info succeeds" status_is 0
check "info counts" says "50 Gaussians, SH degree 0"
check "info finds no defect" says "non-finite  none"
run info out/model.ply --json
check "info --json counts" says '"count": 50'
run render out/model.ply --camera out/camera.json -o again.png
check "render succeeds" status_is 0
check "render and fit agree to the bit" cmp again.png out/result.png
run render out/model.ply --camera out/camera.json -o image.npy --depth depth.npy --alpha alpha.npy --background 1,0.5,0
check "render writes arrays" status_is 0
check "the image is height x width x 3 of float32" grep -qaF "'descr': '<f4', 'fortran_order': False, 'shape': (512, 768, 3)" image.npy
check "the depth is height x width" grep -qaF "(512, 768)" depth.npy
check "the alpha is height x width" grep -qaF "(512, 768)" alpha.npy
run render out/model.ply --camera out/camera.json -o inverse.png --inverse-depth inverse.npy
check "render writes inverse depth" [ "$status" = 0 -a -s inverse.npy ]

run render out/model.ply --camera out/camera.json -o image.bmp
check "an unknown image type fails" status_is 1
check "an unknown image type: the way out is named" one_line_with ".png"
run render out/model.ply --camera out/camera.json -o no/such/folder/image.png
check "an output that cannot be written fails" status_is 1
check "an output that cannot be written is named" one_line_with "no/such/folder/image.png"
run render out/model.ply --camera nosuch.json -o x.png
check "a missing camera fails" status_is 1
check "a missing camera is named" one_line_with "nosuch.json"
echo '{"width": 64, "height": 48, "fy": 50}' >bad.json
run render out/model.ply --camera bad.json -o x.png
check "an incomplete camera fails" status_is 1
check "the missing field is named" one_line_with '"fx"'
run render out/model.ply --camera out/camera.json -o x.png --background 1,2
check "an incomplete background is a misuse" status_is 2
check "an incomplete background: the way out is named" one_line_with "red,green,blue"
run render --background 1,0,0 out/model.ply --camera out/camera.json -o red.png
check "the background may come first" status_is 0
run render out/model.ply --camera out/camera.json -o same.npy --alpha same.npy
check "one file for two outputs fails" status_is 1
run fit --builtin --steps 2.5 -o x
check "half a step is a misuse" one_line_with "whole number"
"$stipple" info out/model.ply >/dev/full 2>stderr; status=$?
check "a full standard output fails" status_is 1
run render out/model.ply --camera out/camera.json -o x.png --backend abacus
check "an unknown backend fails" status_is 1
check "an unknown backend: those there are are named" one_line_with "it has "
check "an unknown backend: the cpu is always there" tells "cpu"
head -c 3000 out/model.ply >short.ply
run info short.ply
check "a truncated model fails" status_is 1
check "a truncated model: the place is named" one_line_with "short.ply: vertex"
check "failures leave nothing half written" [ -z "$(ls | grep -E 'x\.png|\.part|image\.bmp')" ]
run fit out/result.png -o out/result.png --steps 1
check "an output folder that is a file fails" status_is 1
run devices
check "devices succeeds" status_is 0
check "devices lists the cpu" says "cpu:"
if says "cuda:"; then  # in a build with CUDA, as on a machine without a GPU
  CUDA_VISIBLE_DEVICES="" run devices
  check "devices succeeds without a GPU" status_is 0
  check "devices says that there is no GPU" grep -qxF "cuda: no CUDA device" stdout
  check "devices lists the cpu beside it" says "cpu:"
  CUDA_VISIBLE_DEVICES="" run render out/model.ply --camera out/camera.json -o x.png --backend cuda
  check "a backend without its device fails" status_is 1
  check "a backend without its device says why" one_line_with "no CUDA device"
  check "a backend without its device draws nothing" [ ! -e x.png ]
  CUDA_VISIBLE_DEVICES="" run render out/model.ply --camera out/camera.json -o best.png --backend best
  check "best is then another" status_is 0
else
  run render out/model.ply --camera out/camera.json -o x.png --backend cuda
  check "a build without CUDA says so" one_line_with "this build has no backend 'cuda'"
fi

timeout -s KILL 120 "$stipple" fit --builtin --gaussians 500 --steps 1000000 -o stopped >stdout 2>stderr &
pid=$!
for _ in $(seq 100); do sleep 0.1; [ -e stopped ] && break; done
sleep 1
kill -TERM $(pgrep -P $pid stipple || echo $pid)  # TERM: a shell starts background jobs with INT ignored
wait $pid; status=$?
check "an interrupted fit says so" status_is 1
check "an interrupted fit saves what there is" [ -s stopped/model.ply -a -s stopped/side_by_side.png ]
check "an interrupted fit says where" grep -q "interrupted after .* saved in stopped" stderr

finish
