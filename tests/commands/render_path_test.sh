#!/usr/bin/env bash
# render_path_test.sh STIPPLE: stipple render --path for real, with an ffmpeg that is played by a script, so that it
# runs everywhere and everything can go wrong.
. "$(dirname "$0")/command_test.sh"
run() { PATH=$path "$stipple" "$@" >stdout 2>stderr; status=$?; }  # into stdout, stderr, status
files() { (cd "$1" && find . -type f | sed 's|^\./||' | sort | xargs); }

mkdir none fake
path=$work/none  # without an ffmpeg
cat >fake/ffmpeg <<'END'
#!/bin/bash
printf '%s\n' "$@" >"$FAKE/arguments"
[ -z "${FAKE_SLOW:-}" ] || exec /bin/sleep 60
echo "half a video" >"${!#}"
[ -z "${FAKE_ERROR:-}" ] || { echo "Unknown encoder 'libx264'"; exit 8; }
END
chmod +x fake/ffmpeg
export FAKE=$work

"$stipple" synth -o scene --views 12 --size 64x48 >/dev/null 2>&1
"$stipple" fit --builtin --gaussians 50 --steps 5 -o fit >/dev/null 2>&1
mkdir run
cp fit/model.ply run
cat >run/options.json <<END
{"version": "0.1.0", "scene": "$work/scene", "train": {"steps": 5},
 "scene_options": {"max_resolution": 33, "downscale": 1, "images": "", "alpha": "weight", "random_points": 1000}}
END

run render fit/model.ply --scene scene --path orbit --frames 5 -o orbit/
check "an orbit succeeds" status_is 0
check "it has the frames asked for" [ "$(files orbit)" = "0001.png 0002.png 0003.png 0004.png 0005.png" ]
check "they are as large as the photos" [ "$(size_of orbit/0001.png)" = 64x48 ]
check "the camera moves" [ "$(cmp -s orbit/0001.png orbit/0003.png; echo $?)" = 1 ]
check "they are counted" says "orbit/: 5 frames"
check "without ffmpeg, how to make the video is told" tells "ffmpeg -framerate 30 -i orbit/%04d.png"
check "how to install it is told" tells "sudo apt install ffmpeg"
run render run --path interpolate --frames 4 -o flight
check "a run knows its scene" status_is 0
check "and its frames have even sides" [ "$(size_of flight/0004.png)" = 32x24 ]
run render run --path cameras -o photos
check "the photos' cameras succeed" status_is 0
check "a frame for each photo, of its name" [ "$(files photos)" = "$(files scene/images)" ]
check "of its size" [ "$(size_of photos/0001.png)" = 33x25 ]
check "they make no video" [ ! -s stderr -o "$(grep -c ffmpeg stderr)" = 0 ]
mv scene moved
run render run --path orbit --frames 2 -o x
check "a scene that is gone fails" fails_with "$work/scene"
run render run --scene moved --path orbit --frames 2 --size 128x64 --background 1,0,0 --antialiased -o moved_orbit
check "--scene says where it is now" status_is 0
check "--size is the frames' size" [ "$(size_of moved_orbit/0002.png)" = 128x64 ]
mv moved scene
run render run --camera fit/camera.json -o single.png
check "a run's folder does for a single image too" cmp single.png fit/result.png

path=$work/fake
run render run --path orbit --frames 3 --fps 24 -o "a %d folder"
check "with ffmpeg it succeeds" status_is 0
check "there is a video with the frames" [ "$(files "a %d folder")" = "0001.png 0002.png 0003.png video.mp4" ]
check "the video is named" says "a %d folder/video.mp4"
check "ffmpeg gets the frames" grep -qxF "$work/a %%d folder/%04d.png" arguments
check "ffmpeg gets the speed" [ "$(grep -A1 -x -- -framerate arguments | tail -n 1)" = 24 ]
check "the video plays everywhere" [ "$(grep -xcE 'libx264|yuv420p' arguments)" = 2 ]
run render run --path orbit --frames 3 -o flight.mp4
check "a video alone succeeds" [ "$status" = 0 -a -s flight.mp4 ]
check "and leaves no frames" [ "$(ls -d flight.mp4*)" = flight.mp4 ]
run render run --path cameras -o cameras.mp4
check "the photos' cameras make no video" fails_with "give a folder"
FAKE_ERROR=1 run render run --path orbit --frames 3 -o failed
check "an ffmpeg that fails is quoted" fails_with "(exit status 8): Unknown encoder 'libx264'"
check "the frames stay, half a video does not" [ "$(files failed)" = "0001.png 0002.png 0003.png" ]
cp flight.mp4 before.mp4
FAKE_ERROR=1 run render run --path orbit --frames 3 -o flight.mp4
check "a failure leaves an older video alone" cmp flight.mp4 before.mp4
check "and nothing beside it" [ "$(ls -d flight.mp4*)" = flight.mp4 ]

path=$work/none
run render run --path orbit -o flight.mp4
check "a video without ffmpeg fails" fails_with "sudo apt install ffmpeg"
run render run --path orbit -o orbit
check "a folder with frames in it fails" fails_with "orbit is already there"
check "and is left alone" [ "$(ls orbit | wc -l)" = 5 ]
run render run --path orbit -o image.png
check "one image for many fails" fails_with "give a folder"
run render run --path orbit -o no/such/flight.mp4
check "a video that cannot be written fails" fails_with "no/such/flight.mp4"
run render run --path orbit -o /proc/frames
check "a folder that cannot be made fails" fails_with "/proc/frames"
run render fit/model.ply --path orbit -o x
check "no scene: the way out is named" fails_with "--scene"
run render fit --path orbit -o x
check "a folder that is no run is named" fails_with "fit/options.json"
echo '{"scene": 5}' >fit/options.json
run render fit --path orbit -o x
check "a wrong options.json is named" fails_with "fit/options.json"
run render nosuch.ply --scene scene --path orbit -o x
check "a missing model is named" fails_with "nosuch.ply"
run render run --path orbit --size 641x480 -o x
check "odd sides fail" fails_with "even"
run render run --path orbit --size big -o x
check "a wrong size fails" fails_with "such as 640x480"
check "failures leave nothing behind" [ ! -e x ]
for misuse in "--path loop" "--path orbit --frames 0" "--path orbit --fps 0" "--path orbit --camera fit/camera.json" \
    "--path orbit --depth d.npy" ""; do
  run render run $misuse -o x
  check "a misuse: '$misuse'" status_is 2
done
check "what is missing is named" tells "--camera or --path is required"

interrupt() { # interrupt FILE ARGUMENTS...: once the file is there. TERM, since a shell starts background jobs with INT ignored
  local appears=$1; shift
  timeout -s KILL 120 env PATH="$path" "$stipple" "$@" >stdout 2>stderr &
  local pid=$!
  for _ in $(seq 300); do sleep 0.1; compgen -G "$appears" >/dev/null && break; done
  kill -TERM $(pgrep -P $pid stipple || echo $pid)
  wait $pid; status=$?
}
interrupt stopped/0003.png render run --path orbit --frames 9999 --size 640x480 -o stopped
check "an interrupted flight says where its frames are" fails_with "frames; they are in stopped"
check "which are there, and whole" [ "$(ls stopped | wc -l)" -ge 3 -a "$(ls stopped | grep -vc '\.png$')" = 0 ]
path=$work/fake
interrupt "stopped.mp4.*/0003.png" render run --path orbit --frames 9999 --size 640x480 -o stopped.mp4
check "an interrupted video says so" fails_with "there is no video"
check "and leaves nothing" [ -z "$(ls -d stopped.mp4* 2>/dev/null)" ]
rm arguments
FAKE_SLOW=1 interrupt arguments render run --path orbit --frames 3 -o slow
check "an interrupt while ffmpeg works says so" fails_with "interrupted while ffmpeg made the video"
check "and leaves the frames" [ "$(files slow)" = "0001.png 0002.png 0003.png" ]

finish
