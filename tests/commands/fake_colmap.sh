#!/usr/bin/env bash
# Stands in for COLMAP in the tests of stipple sfm: appends its arguments to $FAKE/calls, and one per line to
# $FAKE/arguments, and prints lines and writes files like COLMAP's, with the model as text. Its database is the list of
# photos. These variables control it:
#   FAKE_NEWER   print and take options like 3.12 and later    FAKE_FAIL   the step that fails
#   FAKE_PLACED  the number of photos placed; default all      FAKE_HANG   the step that never ends
#   FAKE_FORGET  the photo that is not undistorted             FAKE_DEAF   ignore SIGTERM while hanging
#   FAKE_AT      the step in which FAKE_DO is evaluated
set -eu
if [ "${2-}" = -h ]; then
  kind=${FAKE_NEWER:+Feature}
  printf '  --%s.use_gpu arg (=1)\n' "${kind:-Sift}Extraction" "${kind:-Sift}Matching"
  exit 0
fi
echo "$*" >>"$FAKE/calls"
printf '%s\n' "$@" >>"$FAKE/arguments"
step=$1; shift
while [ $# -gt 0 ]; do
  case $1 in
    --database_path) database=$2 ;; --image_path) images=$2 ;; --image_list_path) list=$2 ;;
    --input_path) input=$2 ;; --output_path) output=$2 ;;
  esac
  shift 2
done
say() { echo "${FAKE_NEWER:+I20260131 12:00:00.123456  4711 sfm.cc:12] }$1"; }
write_model() { # write_model FOLDER COUNT: the first photos of the database
  mkdir -p "$1"
  echo "1 PINHOLE 768 512 700 700 384 256" >"$1/cameras.txt"
  head -n "$2" "$database" | awk '{ print NR " 1 0 0 0 " (-NR / 10) " 0 0 1 " $0 "\n" }' >"$1/images.txt"
  seq 1234 | awk '{ print $1 " " ($1 % 10) / 10 " " ($1 % 7) / 10 " 4 200 100 50 0.5" }' >"$1/points3D.txt"
}
[ "${FAKE_AT-}" = "$step" ] && eval "$FAKE_DO"
if [ "${FAKE_HANG-}" = "$step" ]; then
  [ -n "${FAKE_DEAF-}" ] && trap '' TERM
  sleep 3600 & echo $! >"$FAKE/hanging"
  wait; wait
fi
if [ "${FAKE_FAIL-}" = "$step" ]; then
  say "ERROR: the dog ate it"; say "Elapsed time: 0.001 [minutes]"; echo "=========="; exit 3
fi
case $step in
  feature_extractor)
    cp "$list" "$database"
    count=$(wc -l <"$list")
    for i in $(seq "$count"); do say "Processed file [$i/$count]"; say "  Name: $i.png"; done ;;
  exhaustive_matcher) for block in "1/2, 1/2" "1/2, 2/2" "2/2, 1/2" "2/2, 2/2"; do say "Matching block [$block] in 0.1s"; done ;;
  sequential_matcher) say "Matching image [$(wc -l <"$database")/$(wc -l <"$database")] in 0.1s" ;;
  mapper)
    placed=${FAKE_PLACED-$(wc -l <"$database")}
    [ "$placed" = 0 ] && { say "=> No good initial image pair found."; say "ERROR: failed to create sparse model"; exit 1; }
    for i in $(seq 3 "$placed"); do say "Registering image #$((i + 7)) ($i)"; done
    write_model "$output/0" 2
    write_model "$output/1" "$placed" ;;
  image_undistorter)
    mkdir -p "$output/images" "$output/sparse" "$output/stereo"
    cp "$input"/*.txt "$output/sparse"
    cut -d' ' -f10- "$input/images.txt" | grep . | while read -r name; do
      mkdir -p "$output/images/$(dirname "$name")"
      [ "${FAKE_FORGET-}" = "$name" ] || cp "$images/$name" "$output/images/$name"
    done
    count=$(ls "$output/images" | wc -l)
    say "Undistorting image [$count/$count]" ;;
esac
