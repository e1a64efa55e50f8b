#!/usr/bin/env bash
# scene_commands_test.sh STIPPLE: synth and check for real: what synth writes in each format is called good, and each way of
# breaking it is found, with the exit status.
. "$(dirname "$0")/command_test.sh"

for format in colmap colmap-text transforms; do
  run synth -o $format --views 12 --size 64x48 --format $format --depth
  check "synth $format succeeds" status_is 0
  check "synth $format leaves 12 photos" [ "$(ls $format/images | wc -l)" = 12 ]
  check "synth $format leaves 12 depth maps" [ "$(ls $format/depth/*.npy | wc -l)" = 12 ]
  run check $format
  check "$format is good" status_is 0
  check "$format: images are counted" says "images   12: 10 to train on, 2 held out with --eval"
  check "$format: points are counted" says "points   15000"
  run check $format --json
  check "$format: as JSON" says '"would_train": true'
done
check "the same photos in each" cmp colmap/images/0003.png transforms/images/0003.png
run synth -o again --views 12 --size 64x48
check "the same seed, the same photos" cmp colmap/images/0003.png again/images/0003.png
check "the same seed, the same points" cmp colmap/sparse/0/points3D.bin again/sparse/0/points3D.bin
for format in colmap-text transforms; do
  run synth -o again --views 12 --size 64x48 --format $format
  check "a scene that would be read instead of $format is in the way" status_is 1
  check "it is named" one_line_with "again/sparse"
done
run synth -o other --views 12 --size 64x48 --seed 2
check "another seed, other photos" [ "$(cmp -s colmap/images/0003.png other/images/0003.png; echo $?)" = 1 ]

run check colmap -o report.png
check "the report's picture is a PNG" [ "$(head -c 4 report.png | tail -c 3)" = PNG ]
run check colmap -o nowhere/report.png
check "a picture that cannot be written fails" status_is 1
check "a picture that cannot be written is named" one_line_with "nowhere/report.png"
run check nowhere
check "no folder fails" status_is 1
check "no folder is named" one_line_with "nowhere"
run check colmap --max-resolution huge
check "a wrong value is a misuse" status_is 2
run check colmap --alpha grey
check "a wrong use of alpha is a misuse" status_is 2
check "the uses of alpha are named" one_line_with "--alpha: 'grey' is not weight, white or black"
run check colmap --alpha white
check "a right use of alpha is taken" status_is 0
run check colmap --max-resolution 32 --json
check "--max-resolution shrinks" says '"32x24": 12'
run synth -o bad --size 64
check "a wrong size fails" status_is 1
check "a wrong size is explained" one_line_with "such as 640x480"
run synth -o /proc/nowhere
check "a folder that cannot be made fails" status_is 1

head -c 1000 colmap/images/0003.png >cut && mv cut colmap/images/0003.png
run check colmap
check "a damaged photo fails" status_is 1
check "a damaged photo is named" says "error: 1 photo cannot be read: colmap/images/0003.png"
run check colmap --json
check "a damaged photo fails as JSON too" status_is 1
check "and says so" says '"severity": "error"'
rm colmap/images/0003.png
run check colmap
check "a missing photo is only a warning" status_is 0
check "a missing photo is named" says "warning: 1 image not in the folder, such as 0003.png"
head -c 100 again/sparse/0/images.bin >cut && mv cut again/sparse/0/images.bin
run check again
check "a cut model fails" status_is 1
check "a cut model is named" says "again/sparse/0/images.bin"

"$stipple" synth -o long --views 500 >stdout 2>stderr &
pid=$!
sleep 2; kill -INT $pid; wait $pid; status=$?
check "Ctrl-C ends synth" status_is 1
check "Ctrl-C is explained" grep -q "interrupted after" stderr
check "an interrupted scene is not taken for a whole one" [ ! -e long/sparse ]

finish
