#!/usr/bin/env bash
# sfm_test.sh STIPPLE: stipple sfm with a COLMAP that is played by fake_colmap.sh, so that it runs everywhere and
# everything can go wrong.
. "$(dirname "$0")/command_test.sh"
fakes=$(dirname "$(realpath "$0")")
export FAKE=$work
sfm() { PATH=$work/bin:$PATH "$stipple" sfm "$@" -o scene >stdout 2>stderr; status=$?; }
run() { rm -rf scene calls; sfm "$@"; }  # into stdout, stderr, status; variables before it are for the fake
called() { grep -qE -- "$1" calls; }
not() { ! "$@"; }
no_scene() { [ ! -e scene/images ] && [ ! -e scene/sparse ]; }

mkdir bin empty "my photos" mixed mixed/wide mixed/small
cp "$fakes/fake_colmap.sh" bin/colmap
"$stipple" fit --builtin --gaussians 5 --steps 1 -o out >/dev/null 2>&1  # for pictures of two sizes
for i in 1 2 3 4 5; do cp out/result.png "my photos/$i.png"; done
cp out/result.png "my photos/.hidden.png"
echo "no photo" >"my photos/notes.txt"
for i in 1 2 3; do cp out/result.png mixed/small/$i.PNG; cp out/side_by_side.png mixed/wide/$i.png; done

run "my photos"
check "photos become a scene" status_is 0
check "the result is counted" says "scene: 5 of 5 photos placed, 1,234 points; next: stipple check scene"
check "the steps are COLMAP's, in order" [ "$(cut -d' ' -f1 calls | xargs)" = \
  "feature_extractor exhaustive_matcher mapper image_undistorter" ]
check "the photos share a camera" called "^feature_extractor .*--ImageReader.single_camera 1"
check "the lens is OPENCV's" called "--ImageReader.camera_model OPENCV"
check "features are found without a GPU" called "^feature_extractor .*--SiftExtraction.use_gpu 0"
check "features are matched without a GPU" called "^exhaustive_matcher .*--SiftMatching.use_gpu 0"
check "only photos are looked at" [ "$(xargs <scene/sfm/photos.txt)" = "1.png 2.png 3.png 4.png 5.png" ]
check "the largest model is taken" called "^image_undistorter .*--input_path scene/sfm/sparse/1 "
check "the photos are there" [ "$(ls scene/images | wc -l)" = 5 ]
check "the model is where it belongs" [ -s scene/sparse/0/images.txt -a ! -e scene/sparse/images.txt ]
check "nothing else is left" [ "$(ls scene | xargs) $(ls scene/sfm | xargs)" = \
  "images sfm sparse colmap.log database.db photos.txt sparse" ]
for what in "finding features" "matching photos" "placing photos" "undistorting photos"; do
  check "progress: $what" tells "$what"
done
check "progress counts photos in each step" [ "$(grep -c '^5/5  photos' stderr)" = 4 ]
check "the log has what was called" grep -q '^\$ .*colmap mapper' scene/sfm/colmap.log
check "the log has what was said" grep -q 'Name: 3.png' scene/sfm/colmap.log
"$stipple" check scene >stdout 2>stderr; status=$?
check "stipple check calls it good" says "good"
sfm "my photos"
check "an existing scene is not touched" fails_with "scene/images is already there; give another folder"

FAKE_NEWER=1 run "my photos" --gpu --camera-model FULL_OPENCV
check "a newer COLMAP succeeds" status_is 0
check "its options are used: extraction" called "--FeatureExtraction.use_gpu 1"
check "its options are used: matching" called "--FeatureMatching.use_gpu 1"
check "its progress is understood" [ "$(grep -c '^5/5  photos' stderr)" = 4 ]
check "the lens can be chosen" called "--ImageReader.camera_model FULL_OPENCV"
run "my photos" --sequential --camera-per-image
check "photos in order" called "^sequential_matcher .*--SiftMatching.use_gpu 0"
check "a camera for each photo" called "--ImageReader.single_camera_per_image 1"
run mixed
check "sub-folders of different sizes" says "6 of 6 photos placed"
check "a camera for each folder" called "--ImageReader.single_camera_per_folder 1"
cp out/result.png mixed/wide/4.png
run mixed
check "a camera for each photo where sizes are mixed" called "--ImageReader.single_camera_per_image 1"

for step in feature_extractor exhaustive_matcher mapper image_undistorter; do
  FAKE_FAIL=$step run "my photos"
  check "$step fails: the reason and the log are named" fails_with \
    "(exit status 3): ERROR: the dog ate it; all that it printed is in scene/sfm/colmap.log"
  check "$step fails: no scene" no_scene
done
check "the step is named" tells "colmap failed while undistorting photos"
sfm "my photos"
check "a second attempt succeeds" status_is 0
FAKE_PLACED=0 run "my photos"
check "no photo placed fails" fails_with "COLMAP could place 0 of 5 photos; "
FAKE_PLACED=2 run "my photos"
check "two photos placed fail" fails_with "COLMAP could place 2 of 5 photos; "
check "two photos placed: no scene" no_scene
FAKE_PLACED=3 run "my photos"
check "few photos placed: a scene" says "3 of 5 photos placed"
check "few photos placed: advice" tells "warning: COLMAP could place 3 of 5 photos; take more"
FAKE_FORGET=4.png run "my photos"
check "a photo that is missing in the end is named" fails_with "4.png"
check "a photo that is missing in the end: no scene" no_scene

interrupt_at() { # interrupt_at STEP: into stdout, stderr, status
  rm -rf scene calls hanging
  FAKE_HANG=$1 PATH=$work/bin:$PATH "$stipple" sfm "my photos" -o scene >stdout 2>stderr &
  local pid=$!
  for _ in $(seq 200); do [ -s hanging ] && break; sleep 0.05; done
  kill -INT $pid
  wait $pid; status=$?
}
is_gone() { [ -s hanging ] && ! ps -o stat= -p "$(cat hanging)" | grep -qv Z; }
interrupt_at mapper
check "an interrupt is told" fails_with "interrupted while placing photos; there is no scene yet"
check "an interrupt leaves no scene" no_scene
check "an interrupt ends COLMAP and what it started" is_gone
export FAKE_DEAF=1
interrupt_at exhaustive_matcher
check "an interrupt ends a COLMAP that will not end" fails_with "interrupted while matching photos"
check "an interrupt ends it altogether" is_gone
unset FAKE_DEAF

run nosuch
check "a missing folder is named" fails_with "nosuch: there is no such file or folder"
run empty
check "an empty folder is named" fails_with "empty: no photos (.jpg, .jpeg, .png) in it"
cp out/result.png empty/1.png
run empty
check "one photo is too few" fails_with "empty: only 1 of the 3 photos or more that it takes"
check "nothing is made in vain" [ ! -e scene ]
head -c 20 out/result.png >empty/2.png; cp out/result.png empty/3.png
run empty
check "a damaged photo is named" fails_with "empty/2.png"
run out/result.png
check "a photo is no folder" fails_with "out/result.png: neither a folder of photos nor a video"
"$stipple" sfm "my photos" -o "my photos/scene" >stdout 2>stderr; status=$?
check "a scene among the photos is refused" [ $status = 1 -a ! -e "my photos/scene" ]
PATH=$work/empty "$stipple" sfm "my photos" -o scene >stdout 2>stderr; status=$?
check "without COLMAP: how to install it" fails_with "COLMAP is not installed; install it (Debian, Ubuntu: sudo apt"

touch walk.MP4
mkdir only_colmap; ln -s ../bin/colmap only_colmap
PATH=$work/only_colmap "$stipple" sfm walk.MP4 -o scene >stdout 2>stderr; status=$?
check "a video without ffmpeg: how to install it" fails_with "ffmpeg is not installed, and walk.MP4 is a video"
cat >bin/ffmpeg <<'END'
#!/usr/bin/env bash
echo "$*" >>"$FAKE/calls"
for i in 1 2 3 4; do cp "$FAKE/out/result.png" "$(printf "${@: -1}" $i)"; done
END
chmod +x bin/ffmpeg
run walk.MP4 --fps 0.5
check "a video becomes a scene" says "scene: 4 of 4 photos placed"
check "frames are taken at that rate" called "-i walk.MP4 -vf fps=0.5 "
check "frames are matched in order" called "^sequential_matcher"

finish
