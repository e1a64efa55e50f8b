#!/usr/bin/env bash
# scene_commands_test.sh STIPPLE: runs synth and check. Check accepts what synth writes in each format, and finds every kind
# of damage, with the right exit status.
. "$(dirname "$0")/command_test.sh"

for format in colmap colmap-text transforms; do
  run synth -o $format --views 12 --size 64x48 --format $format --depth
  check "synth $format succeeds" status_is 0
  check "synth $format writes 12 photos" [ "$(ls $format/images | wc -l)" = 12 ]
  check "synth $format writes 12 depth maps" [ "$(ls $format/depth/*.npy | wc -l)" = 12 ]
  run check $format
  check "check accepts $format" status_is 0
  check "$format: check counts the images" says "images   12: 10 to train on, 2 held out with --eval"
  check "$format: check counts the points" says "points   15000, of which a photo shows about "
  run check $format --json
  check "$format: check --json reports that it would train" says '"would_train": true'
done
check "all formats have the same photos" cmp colmap/images/0003.png transforms/images/0003.png
for format in metashape realitycapture opensfm openmvg polycam; do
  run synth -o $format --views 12 --size 64x48 --format $format
  check "synth $format succeeds" status_is 0
  run check $format
  check "check accepts $format" status_is 0
  check "$format: check counts the images" says "images   12: 10 to train on, 2 held out with --eval"
  points="15000, of which a photo shows about "
  [ $format != polycam ] || points="100000 (random)"
  check "$format: check counts the points" says "points   $points"
done
run check metashape
check "check names the format and the file of the points" says "format   Metashape (cameras.xml), points from points.ply"

# Scenes are converted, with the warning that is needed and without the others.
for to in colmap colmap-text transforms; do
  run convert opensfm converted-$to --to $to
  check "convert --to $to succeeds" status_is 0
  check "convert --to $to says what it wrote" says "converted-$to: 12 views, 15000 points, from OpenSfM (reconstruction.json)"
  check "convert --to $to copies the photos" cmp opensfm/images/0003.png converted-$to/images/0003.png
  run check converted-$to
  check "check accepts what convert --to $to wrote" says "points   15000, of which a photo shows about "
done
run convert polycam/keyframes linked --to transforms --photos link
check "convert --photos link makes links" [ -L linked/images/0003.png ]
check "convert warns that there are no points" tells "the scene has no points to start from"
run check linked
check "check accepts a scene of links" status_is 0
run convert opensfm bare --to colmap --photos none
check "convert --photos none writes no photos" [ ! -e bare/images ]
run convert opensfm linked --to transforms
check "convert refuses a folder that is not empty" fails_with "linked: this folder is not empty; name another one, or allow to write into it (see --overwrite)"
run convert opensfm linked --to transforms --overwrite
check "convert --overwrite writes into it" status_is 0
check "convert --overwrite replaces links by copies" [ ! -L linked/images/0003.png ]
run convert opensfm opensfm/new --to colmap
check "convert refuses a folder in the scene" fails_with "overlaps with that of the scene"
check "a refused folder is not made" [ ! -e opensfm/new ]
run convert nowhere other --to colmap
check "convert: a missing scene is named" one_line_with "nowhere"
run convert opensfm metashape other --to colmap
check "convert: two scenes are a usage error" status_is 2
run convert opensfm other --to colmap --morton
check "convert: options of models are refused with --to" status_is 2
check "convert: the error names them" one_line_with "--to converts a scene, but --morton is for models"
run convert opensfm other --photos link
check "convert: options of scenes need --to" status_is 2
run synth -o again --views 12 --size 64x48
check "the same seed gives the same photos" cmp colmap/images/0003.png again/images/0003.png
check "the same seed gives the same points" cmp colmap/sparse/0/points3D.bin again/sparse/0/points3D.bin
for format in colmap-text transforms; do
  run synth -o again --views 12 --size 64x48 --format $format
  check "synth $format refuses a folder with a scene that would be read instead" status_is 1
  check "synth $format: the error names that scene" one_line_with "again/sparse"
done
run synth -o other --views 12 --size 64x48 --seed 2
check "another seed gives other photos" [ "$(cmp -s colmap/images/0003.png other/images/0003.png; echo $?)" = 1 ]

photo_differs() { [ "$(cmp -s colmap/images/0003.png "$1/images/0003.png"; echo $?)" = 1 ]; }
file_differs() { [ "$(cmp -s "colmap/sparse/0/$2" "$1/sparse/0/$2"; echo $?)" = 1 ]; }
for fault in "blur 5" "exposure 1" "passers-by 12" "transparent"; do
  name=${fault%% *}
  run synth -o $name --views 12 --size 64x48 --$fault
  check "synth --$name succeeds" status_is 0
  check "synth --$name changes the photos" photo_differs $name
  check "synth --$name does not change the cameras" cmp colmap/sparse/0/images.bin $name/sparse/0/images.bin
done
color_type() { od -An -tu1 -j25 -N1 "$1" | tr -d ' '; }  # of a PNG: 2 is RGB, 6 is RGBA
check "photos are opaque" [ "$(color_type colmap/images/0003.png)" = 2 ]
check "synth --transparent writes photos with alpha" [ "$(color_type transparent/images/0003.png)" = 6 ]
run synth -o noisy --views 12 --size 64x48 --pose-noise 1 --focal-noise 0.05
check "noise succeeds" status_is 0
check "noise does not change the photos" cmp colmap/images/0003.png noisy/images/0003.png
check "noise does not change the points" cmp colmap/sparse/0/points3D.bin noisy/sparse/0/points3D.bin
check "--pose-noise changes the written poses" file_differs noisy images.bin
check "--focal-noise writes a lens per photo" [ "$(od -An -tu8 -N8 noisy/sparse/0/cameras.bin | tr -d ' ')" = 12 ]
run check noisy
check "check accepts a scene with noise" status_is 0
for format in colmap colmap-text transforms; do
  run synth -o no-points-$format --views 12 --size 64x48 --format $format --no-points
  run check no-points-$format
  check "$format: --no-points writes none" says "(random)"
done
run synth -o black --views 12 --size 64x48 --black-points
check "--black-points changes the points" file_differs black points3D.bin
run check black
check "check says how training starts from points without colours" says "Training takes their colours from the photos"
run synth -o bad --pose-noise 90
check "too much noise: usage error" status_is 2
check "too much noise: the error names the option and the range" one_line_with "--pose-noise must be from 0 to 20, not 90"
run synth -o bad --views 5 --passers-by 6
check "more passers-by than photos: usage error" status_is 2
check "a refused option leaves no folder" [ ! -e bad ]

# The city: any number of views, points in every format, and the same bits every time.
for format in colmap transforms; do
  run synth --city -o city-$format --views 16 --size 48x36 --format $format --depth
  check "synth --city --format $format succeeds" status_is 0
  check "synth --city says how large the city is" says "city-$format: 16 views of 48x36 of a city of 2 x 2 blocks, seed 1"
  check "synth --city writes 16 photos" [ "$(ls city-$format/images | wc -l)" = 16 ]
  check "synth --city writes 16 depth maps" [ "$(ls city-$format/depth/*.npy | wc -l)" = 16 ]
  run check city-$format
  check "check accepts the city" status_is 0
  check "check counts the points of the city" says "points   6000, of which a photo shows about "
done
run synth --city -o city-again --views 16 --size 48x36
check "the same seed gives the same city" cmp city-colmap/images/0003.png city-again/images/0003.png
check "the same seed gives the same points of the city" cmp city-colmap/sparse/0/points3D.bin city-again/sparse/0/points3D.bin
run synth --city -o city-other --views 16 --size 48x36 --blocks 3 --seed 2 --blur 2 --exposure 0.5 --no-points
check "synth --city takes --blocks" says "3 x 3 blocks"
check "another seed gives another city" [ "$(cmp -s city-colmap/images/0003.png city-other/images/0003.png; echo $?)" = 1 ]
run train city-colmap -o city-run --steps 30 --backend cpu --eval
check "the city can be trained on" status_is 0
for flag in --transparent "--pose-noise 1" "--passers-by 2"; do
  run synth --city -o bad $flag
  check "synth --city $flag: usage error" status_is 2
  check "synth --city $flag: the error names both" one_line_with "${flag%% *} excludes --city"
done
run synth -o bad --blocks 3
check "--blocks needs --city" status_is 2
check "--blocks needs --city: the error says so" one_line_with "--blocks requires --city"
run synth --city -o bad --blocks 257
check "too many blocks: the error gives the range" one_line_with "from 1 to 256"
check "refused options of the city leave no folder" [ ! -e bad ]

run check colmap -o report.png
check "the plot of check is a PNG" [ "$(head -c 4 report.png | tail -c 3)" = PNG ]
run check colmap -o nowhere/report.png
check "unwritable plot: fails" status_is 1
check "unwritable plot: the error names it" one_line_with "nowhere/report.png"
run check nowhere
check "missing scene: fails" status_is 1
check "missing scene: the error names it" one_line_with "nowhere"
run check colmap --max-resolution huge
check "invalid value: usage error" status_is 2
run check colmap --alpha grey
check "invalid --alpha: usage error" status_is 2
check "invalid --alpha: the error lists the choices" one_line_with "--alpha must be auto, object, weight, white or black, not 'grey'"
run check colmap --alpha white
check "valid --alpha: succeeds" status_is 0
# A cut-out object without points: every photo shows the same disc.
run synth -o object --views 12 --size 16x16 --format transforms
disc=iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9hAAAAKUlEQVR42mNgGL7gRIXGf2RMtkaSDaLIAEKaCRoyDAwY+FigSkIaegAAbyLAMVFipRcAAAAASUVORK5CYII=
for photo in object/images/*.png; do echo $disc | base64 -d >"$photo"; done
sed -i '/ply_file_path/d' object/transforms.json
why="8 of 8 sampled photos are transparent in 25 % of their pixels or more (median 69 %)"
run check object --random-points 200
check "object: check recognises it and says why" says "alpha    object: $why"
check "object: check counts the carved points" says "points   200 carved from the masks"
run check object --json
check "object: check --json says what was decided" says '"alpha": "object"'
check "object: check --json says why" says "\"alpha_reason\": \"$why\""
check "object: check --json says that points are carved" says '"points_are_carved": true'
run check object --alpha weight
check "--alpha weight: used as requested" says "alpha    weight: as requested"
check "--alpha weight: points are random" says "(random)"
run check transforms --json
check "photos without alpha: nothing is decided" says '"alpha_reason": "no photo has an alpha channel"'
run check transforms
check "photos without alpha: check says nothing about it" [ "$(grep -c alpha stdout)" = 0 ]
run train object -o whole --steps 40 --random-points 200 --backend cpu --eval
check "object: train succeeds" status_is 0
check "object: train says what was decided" says "alpha: object, $why; 200 points carved from the masks"
check "object: the run records the decision" grep -q '"alpha": "object"' whole/options.json
check "object: it is trained over random backgrounds" grep -q '"random_background": true' whole/options.json
check "object: it is scored over white" grep -q '"background": "1,1,1"' whole/options.json
run train object -o parts --steps 40 --random-points 200 --backend cpu --eval --stop-at 20
run train object -o parts --resume --stop-at 0
check "object: a resumed run ends with the same bits" cmp whole/model.ply parts/model.ply
run eval whole --json --backend cpu
psnr=$(grep -m 1 '"psnr"' stdout)
run eval whole/model.ply object --json --backend cpu
check "object: a model alone is scored over white, too" [ "$(grep -m 1 '"psnr"' stdout)" = "$psnr" ]
run train object -o black --steps 2 --random-points 200 --backend cpu --background 0,0,0
check "object: --background is kept" grep -q '"background": "0,0,0"' black/options.json

run check colmap --max-resolution 32 --json
check "--max-resolution shrinks the photos" says '"32x24": 12'
run synth -o bad --size 64
check "invalid --size: fails" status_is 1
check "invalid --size: the error shows an example" one_line_with "such as 640x480"
run synth -o /proc/nowhere
check "a folder that cannot be created: fails" status_is 1

head -c 1000 colmap/images/0003.png >cut && mv cut colmap/images/0003.png
run check colmap
check "damaged photo: check fails" status_is 1
check "damaged photo: check names it" says "error: 1 photo cannot be read: colmap/images/0003.png"
run check colmap --json
check "damaged photo: check --json fails" status_is 1
check "damaged photo: check --json reports an error" says '"severity": "error"'
rm colmap/images/0003.png
run check colmap
check "missing photo: check succeeds" status_is 0
check "missing photo: check warns and names it" says "warning: 1 photo not found: 0003.png"
head -c 100 again/sparse/0/images.bin >cut && mv cut again/sparse/0/images.bin
run check again
check "truncated COLMAP file: check fails" status_is 1
check "truncated COLMAP file: check names it" says "again/sparse/0/images.bin"

start "$stipple" synth -o long --views 100000
wait_until exists "long/images/*.png"
stop_with INT
check "Ctrl-C ends synth" status_is 1
check "Ctrl-C: the error says that synth was interrupted" grep -q "interrupted after" stderr
check "an interrupted synth writes no cameras, so that no program takes the scene for complete" [ ! -e long/sparse ]

finish
