#!/usr/bin/env bash
# sfm_test.sh STIPPLE: runs stipple sfm with fake_colmap.sh in place of COLMAP, so that the test needs no COLMAP and can
# make each step fail.
fakes=$(dirname "$(realpath "$0")")
. "$fakes/command_test.sh"
export FAKE=$work
sfm() { PATH=$work/bin:$PATH "$stipple" sfm "$@" -o scene >stdout 2>stderr; status=$?; }
run() { rm -rf scene calls; sfm "$@"; }  # variables set for the call reach the fake COLMAP
called() { grep -qE -- "$1" calls; }
not() { ! "$@"; }
no_scene() { [ ! -e scene/images ] && [ ! -e scene/sparse ]; }

mkdir bin empty "my photos" mixed mixed/wide mixed/small
cp "$fakes/fake_colmap.sh" bin/colmap
"$stipple" fit --builtin --gaussians 5 --steps 1 -o out >/dev/null 2>&1  # writes images of two sizes
for i in 1 2 3 4 5; do cp out/result.png "my photos/$i.png"; done
cp out/result.png "my photos/.hidden.png"
echo "no photo" >"my photos/notes.txt"
for i in 1 2 3; do cp out/result.png mixed/small/$i.PNG; cp out/side_by_side.png mixed/wide/$i.png; done

run "my photos"
check "a folder of photos becomes a scene" status_is 0
check "the result names the photos, the points and the next command" says "scene: 5 of 5 photos placed, 1,234 points; next: stipple check scene"
check "COLMAP's steps run in order" [ "$(cut -d' ' -f1 calls | xargs)" = \
  "feature_extractor exhaustive_matcher mapper image_undistorter" ]
check "photos of one size share a camera" called "^feature_extractor .*--ImageReader.single_camera 1"
check "the default lens model is OPENCV" called "--ImageReader.camera_model OPENCV"
check "features are extracted without a GPU" called "^feature_extractor .*--SiftExtraction.use_gpu 0"
check "features are matched without a GPU" called "^exhaustive_matcher .*--SiftMatching.use_gpu 0"
check "other files are ignored" [ "$(xargs <scene/sfm/photos.txt)" = "1.png 2.png 3.png 4.png 5.png" ]
check "the largest model is used" called "^image_undistorter .*--input_path $work/scene/sfm/sparse/1 "
check "the scene has all photos" [ "$(ls scene/images | wc -l)" = 5 ]
check "the model is in sparse/0" [ -s scene/sparse/0/images.txt -a ! -e scene/sparse/images.txt ]
check "no other files are left" [ "$(ls scene | xargs) $(ls scene/sfm | xargs)" = \
  "images sfm sparse colmap.log database.db photos.txt sparse" ]
for what in "finding features" "matching photos" "placing photos" "undistorting photos"; do
  check "progress names the step: $what" tells "$what"
done
check "progress counts the photos in each step" [ "$(grep -c '^5/5  photos' stderr)" = 4 ]
check "the log has the commands" grep -q '^\$ .*colmap mapper' scene/sfm/colmap.log
check "the log has COLMAP's output" grep -q 'Name: 3.png' scene/sfm/colmap.log
"$stipple" check scene >stdout 2>stderr; status=$?
check "stipple check accepts the scene" says "good"
sfm "my photos"
check "an existing scene is not overwritten" fails_with "scene/images already exists; give another folder"

FAKE_NEWER=1 run "my photos" --gpu --camera-model FULL_OPENCV
check "a newer COLMAP succeeds" status_is 0
check "a newer COLMAP: its option for the extraction is used" called "--FeatureExtraction.use_gpu 1"
check "a newer COLMAP: its option for the matching is used" called "--FeatureMatching.use_gpu 1"
check "a newer COLMAP: its progress is understood" [ "$(grep -c '^5/5  photos' stderr)" = 4 ]
check "--camera-model sets the lens model" called "--ImageReader.camera_model FULL_OPENCV"
run "my photos" --sequential --camera-per-image
check "--sequential matches photos in order" called "^sequential_matcher .*--SiftMatching.use_gpu 0"
check "--camera-per-image gives each photo a camera" called "--ImageReader.single_camera_per_image 1"
run mixed
check "subfolders with photos of different sizes" says "6 of 6 photos placed"
check "each subfolder has a camera" called "--ImageReader.single_camera_per_folder 1"
cp out/result.png mixed/wide/4.png
run mixed
check "each photo has a camera if a subfolder mixes sizes" called "--ImageReader.single_camera_per_image 1"

for step in feature_extractor exhaustive_matcher mapper image_undistorter; do
  FAKE_FAIL=$step run "my photos"
  check "$step fails: the error gives the reason and the log" fails_with \
    "(exit status 3): ERROR: the dog ate it; its output is in scene/sfm/colmap.log"
  check "$step fails: leaves no scene" no_scene
done
check "image_undistorter fails: the error names the step" tells "colmap failed while undistorting photos"
sfm "my photos"
check "a second attempt succeeds" status_is 0
FAKE_PLACED=0 run "my photos"
check "no photo placed: fails" fails_with "COLMAP could place only 0 of 5 photos; "
FAKE_PLACED=2 run "my photos"
check "two photos placed: fails" fails_with "COLMAP could place only 2 of 5 photos; "
check "two photos placed: leaves no scene" no_scene
FAKE_PLACED=3 run "my photos"
check "few photos placed: makes a scene" says "3 of 5 photos placed"
check "few photos placed: warns with advice" tells "warning: COLMAP could place only 3 of 5 photos; take more"
FAKE_FORGET=4.png run "my photos"
check "photo missing after undistortion: the error names it" fails_with "4.png"
check "photo missing after undistortion: leaves no scene" no_scene

interrupt_at() { # interrupt_at STEP: sends INT while COLMAP hangs in that step
  rm -rf scene calls hanging
  FAKE_HANG=$1 PATH=$work/bin:$PATH start "$stipple" sfm "my photos" -o scene
  wait_until [ -s hanging ]
  stop_with INT
}
is_gone() { ! ps -o stat= -p "$(cat hanging)" | grep -qv Z; }
interrupt_at mapper
check "interrupt: the error names the step" fails_with "interrupted while placing photos; there is no scene yet"
check "interrupt: leaves no scene" no_scene
check "interrupt: ends COLMAP and its child processes" eventually is_gone
export FAKE_DEAF=1
interrupt_at exhaustive_matcher
check "interrupt: ends a COLMAP that ignores TERM" fails_with "interrupted while matching photos"
check "interrupt: ends the child processes that ignore TERM" eventually is_gone
unset FAKE_DEAF

run nosuch
check "missing folder: the error names it" fails_with "nosuch: no such file or folder"
run empty
check "empty folder: the error names it" fails_with "empty: there are no photos (.jpg, .jpeg, .png) in this folder"
cp out/result.png empty/1.png
run empty
check "one photo: the error says how many are needed" fails_with "empty: at least 3 photos are needed, but this folder has only 1"
check "one photo: creates no folder" [ ! -e scene ]
head -c 20 out/result.png >empty/2.png; cp out/result.png empty/3.png
run empty
check "damaged photo: the error names it" fails_with "empty/2.png"
run out/result.png
check "photo instead of a folder: the error says what is expected" fails_with "out/result.png: neither a folder of photos nor a video"
"$stipple" sfm "my photos" -o "my photos/scene" >stdout 2>stderr; status=$?
check "a scene inside the folder of photos: refused" [ $status = 1 -a ! -e "my photos/scene" ]
PATH=$work/empty "$stipple" sfm "my photos" -o scene >stdout 2>stderr; status=$?
check "without COLMAP: the error says how to install it" fails_with "COLMAP is not installed; install it (Debian, Ubuntu: sudo apt"

touch walk.MP4
mkdir only_colmap; ln -s ../bin/colmap only_colmap
PATH=$work/only_colmap "$stipple" sfm walk.MP4 -o scene >stdout 2>stderr; status=$?
check "video without ffmpeg: the error says that it is missing" fails_with "ffmpeg is not installed, and walk.MP4 is a video"
cp "$fakes/fake_ffmpeg.sh" bin/ffmpeg
export FAKE_FRAME=$work/out/result.png
run walk.MP4 --fps 0.5
check "a video becomes a scene" says "scene: 4 of 4 photos placed"
check "--fps sets the rate of the frames" called "-i file:$work/walk.MP4 -vf fps=0.5 "
check "frames of a video are matched in order" called "^sequential_matcher"

finish
