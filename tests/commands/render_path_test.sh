#!/usr/bin/env bash
# render_path_test.sh STIPPLE: runs stipple render --path with a script in place of ffmpeg, so that the test needs no ffmpeg
# and can make it fail.
. "$(dirname "$0")/command_test.sh"
run() { PATH=$path "$stipple" "$@" >stdout 2>stderr; status=$?; }
files() { (cd "$1" && find . -type f | sed 's|^\./||' | sort | xargs); }

mkdir none fake
path=$work/none  # without an ffmpeg
cat >fake/ffmpeg <<'END'
#!/bin/bash
printf '%s\n' "$@" >"$FAKE/arguments"
[ -z "${FAKE_SLOW:-}" ] || exec /bin/sleep 3600
video=${!#}
echo "half a video" >"${video#file:}"
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
check "an orbit has the requested number of frames" [ "$(files orbit)" = "0001.png 0002.png 0003.png 0004.png 0005.png" ]
check "frames have the size of the photos" [ "$(size_of orbit/0001.png)" = 64x48 ]
check "the camera moves" [ "$(cmp -s orbit/0001.png orbit/0003.png; echo $?)" = 1 ]
check "the number of frames is printed" says "orbit/: 5 frames"
check "without ffmpeg: prints the command that makes the video" tells "ffmpeg -f image2 -framerate 30 -i file:orbit/%04d.png"
check "without ffmpeg: prints how to install it" tells "sudo apt install ffmpeg"
run render run --path interpolate --frames 4 -o flight
check "a run's folder implies its scene" status_is 0
check "frames of an interpolated path have even sides" [ "$(size_of flight/0004.png)" = 32x24 ]
run render run --path cameras -o photos
check "--path cameras succeeds" status_is 0
check "--path cameras renders a frame per photo, with its name" [ "$(files photos)" = "$(files scene/images)" ]
check "--path cameras keeps the size of the photos" [ "$(size_of photos/0001.png)" = 33x25 ]
check "--path cameras makes no video" [ ! -s stderr -o "$(grep -c ffmpeg stderr)" = 0 ]
mv scene moved
run render run --path orbit --frames 2 -o x
check "moved scene: the error names it" fails_with "$work/scene"
run render run --scene moved --path orbit --frames 2 --size 128x64 --background 1,0,0 --antialiased -o moved_orbit
check "moved scene: --scene gives the new path" status_is 0
check "--size sets the size of the frames" [ "$(size_of moved_orbit/0002.png)" = 128x64 ]
mv moved scene
run render run --camera fit/camera.json -o single.png
check "a single image can be rendered from a run's folder" cmp single.png fit/result.png

camera_at() { # camera_at X: looks along y, at the middle of the built-in object
  echo "{\"width\": 65, \"height\": 48, \"fx\": 50, \"fy\": 50, \"camera_from_world\": [1,0,0,-$1, 0,0,-1,0, 0,1,0,4]}"
}
cat >flight.json <<END
{"stipple_path": 1, "fps": 4, "keyframes": [
  {"time": 1, "camera": $(camera_at 0)}, {"time": 2.5, "camera": $(camera_at 1)}]}
END
camera_at 0 | sed 's/65/64/' >first.json
camera_at 1 | sed 's/65/64/' >last.json
run render fit/model.ply --path flight.json -o keyframes
check "a path in a file needs no scene" status_is 0
check "its frames are its duration times its frame rate, with both ends" [ "$(files keyframes | wc -w)" = 7 ]
check "its command for a video has its frame rate" tells "-framerate 4 "
check "its frames have the size of the first key frame, made even" [ "$(size_of keyframes/0001.png)" = 64x48 ]
sed 's/"fx": 50, "fy": 50/"fx": 50, "fy": 50, "cx": 32, "cy": 24/' first.json >centred.json
run render fit/model.ply --camera centred.json -o centred.png
check "it starts at the first key frame" cmp centred.png keyframes/0001.png
run render fit/model.ply --camera last.json -o last.png
check "it ends at the last key frame" cmp last.png keyframes/0007.png
check "it moves in between" [ "$(cmp -s keyframes/0003.png keyframes/0004.png; echo $?)" = 1 ]
run render fit/model.ply --path flight.json --fps 2 --size 32x24 -o slow_frames
check "--fps and --size override the file" [ "$(files slow_frames | wc -w) $(size_of slow_frames/0004.png)" = "4 32x24" ]
run render fit/model.ply --path flight.json --frames 3 -o three
check "--frames overrides the file" [ "$(files three)" = "0001.png 0002.png 0003.png" ]
check "--frames takes steps of equal time" cmp three/0002.png keyframes/0004.png
sed 's/"time": 2.5/"time": 80000/' flight.json >long.json
run render fit/model.ply --path long.json -o x
check "too many frames: the error says what to give" fails_with "give a smaller --fps, or --frames"
sed 's/"fy": 50/"fy": -50/2' flight.json >broken.json
run render fit/model.ply --path broken.json -o x
check "a broken path: the error names the file and the field" fails_with 'broken.json: "keyframes[1].camera.fy"'
run render fit/model.ply --path nosuch.json -o x
check "a missing path: the error names it" fails_with "nosuch.json"

mkdir white
cp run/model.ply white
sed 's/"steps": 5/"steps": 5, "background": "1,1,1", "antialiased": true/' run/options.json >white/options.json
run render white --camera fit/camera.json -o as_trained.png
run render run/model.ply --camera fit/camera.json --background 1,1,1 --antialiased -o with_flags.png
run render white --camera fit/camera.json --background 0,0,1 -o blue.png
run render run/model.ply --camera fit/camera.json --background 0,0,1 --antialiased -o blue_with_flags.png
check "a run is rendered with the options it was trained with" cmp as_trained.png with_flags.png
check "those options change the image" [ "$(cmp -s as_trained.png single.png; echo $?)" = 1 ]
check "flags override the options of the run" cmp blue.png blue_with_flags.png
run render white --path orbit --frames 2 -o white_orbit
run render run --path orbit --frames 2 --background 1,1,1 --antialiased -o flags_orbit
check "the frames of a path use the options of the run" cmp white_orbit/0002.png flags_orbit/0002.png

path=$work/fake
run render run --path orbit --frames 3 --fps 24 -o "a %d folder"
check "with ffmpeg it succeeds" status_is 0
check "the video is beside the frames" [ "$(files "a %d folder")" = "0001.png 0002.png 0003.png video.mp4" ]
check "the path of the video is printed" says "a %d folder/video.mp4"
check "ffmpeg gets the path of the frames, with % escaped" grep -qxF "file:$work/a %%d folder/%04d.png" arguments
check "ffmpeg gets the frame rate" [ "$(grep -A1 -x -- -framerate arguments | tail -n 1)" = 24 ]
check "the video has a widely supported format" [ "$(grep -xcE 'libx264|yuv420p' arguments)" = 2 ]
run render run --path orbit --frames 3 -o flight.mp4
check "an .mp4 output succeeds" [ "$status" = 0 -a -s flight.mp4 ]
check "an .mp4 output leaves no frames" [ "$(ls -d flight.mp4*)" = flight.mp4 ]
run render run --path cameras -o cameras.mp4
check "--path cameras with an .mp4: the error asks for a folder" fails_with "give a folder"
FAKE_ERROR=1 run render run --path orbit --frames 3 -o failed
check "ffmpeg fails: the error quotes it" fails_with "(exit status 8): Unknown encoder 'libx264'"
check "ffmpeg fails: the frames stay, the partial video does not" [ "$(files failed)" = "0001.png 0002.png 0003.png" ]
cp flight.mp4 before.mp4
FAKE_ERROR=1 run render run --path orbit --frames 3 -o flight.mp4
check "ffmpeg fails: an older video stays as it was" cmp flight.mp4 before.mp4
check "ffmpeg fails: leaves no temporary files" [ "$(ls -d flight.mp4*)" = flight.mp4 ]

path=$work/none
run render run --path orbit -o flight.mp4
check "an .mp4 without ffmpeg: the error says how to install it" fails_with "sudo apt install ffmpeg"
run render run --path orbit -o orbit
check "a folder with frames: refused" fails_with "orbit already exists"
check "a folder with frames: stays as it was" [ "$(ls orbit | wc -l)" = 5 ]
run render run --path orbit -o image.png
check "an image file for a path: the error asks for a folder" fails_with "give a folder"
run render run --path orbit -o no/such/flight.mp4
check "unwritable video: the error names it" fails_with "no/such/flight.mp4"
run render run --path orbit -o /proc/frames
check "a folder that cannot be created: the error names it" fails_with "/proc/frames"
run render fit/model.ply --path orbit -o x
check "model without a scene: the error suggests --scene" fails_with "--scene"
run render fit --path orbit -o x
check "a folder that is not a run: the error names its options.json" fails_with "fit/options.json"
echo '{"scene": 5}' >fit/options.json
run render fit --path orbit -o x
check "malformed options.json: the error names it" fails_with "fit/options.json"
run render nosuch.ply --scene scene --path orbit -o x
check "missing model: the error names it" fails_with "nosuch.ply"
run render run --path orbit --size 641x480 -o x
check "odd sides: the error asks for even ones" fails_with "even"
run render run --path orbit --size big -o x
check "invalid --size: the error shows an example" fails_with "such as 640x480"
check "failures create no folder" [ ! -e x ]
run render run --path obrit -o x
check "a mistyped path: the error suggests the right one" one_line_with "did you mean orbit?"
for misuse in "--path loop" "--path flight.txt" "--path orbit --frames 0" "--path orbit --fps 0" "--path orbit --fps nan" "--path orbit --camera fit/camera.json" \
    "--path orbit --depth d.npy" ""; do
  run render run $misuse -o x
  check "usage error: '$misuse'" status_is 2
done
check "neither --camera nor --path: the error names both" tells "--camera or --path is required"

interrupt() { # interrupt PATTERN ARGUMENTS...: starts the command and sends it TERM once a file matches the pattern
  local pattern=$1; shift
  start env PATH="$path" "$stipple" "$@"
  wait_until exists "$pattern"
  stop_with TERM
}
interrupt stopped/0003.png render run --path orbit --frames 9999 --size 640x480 -o stopped
check "an interrupted path: the error says where its frames are" fails_with "frames; they are in stopped"
check "an interrupted path leaves complete frames" [ "$(ls stopped | wc -l)" -ge 3 -a "$(ls stopped | grep -vc '\.png$')" = 0 ]
path=$work/fake
interrupt "stopped.mp4.*/0003.png" render run --path orbit --frames 9999 --size 640x480 -o stopped.mp4
check "an interrupted video: the error says that there is none" fails_with "there is no video"
check "an interrupted video leaves no files" [ -z "$(ls -d stopped.mp4* 2>/dev/null)" ]
rm arguments
FAKE_SLOW=1 interrupt arguments render run --path orbit --frames 3 -o slow
check "an interrupt while ffmpeg runs: the error says so" fails_with "interrupted while ffmpeg made the video"
check "an interrupt while ffmpeg runs leaves the frames" [ "$(files slow)" = "0001.png 0002.png 0003.png" ]

finish
