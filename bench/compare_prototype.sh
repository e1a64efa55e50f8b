#!/usr/bin/env bash
# compare_prototype.sh PROTOTYPE.cpp [RUNS]: compares blend and blend_backward with those of the design's timing prototype,
# on scenes with the same statistics. Runs alternate, since timings drift; the best time of each is printed, in ms on two
# threads. The prototype is compiled for this machine (-march=native); Stipple chooses its vector width at run time.
set -euo pipefail
prototype=$1 runs=${2:-5}
bench=$(dirname "$0")/../build/release/bench/stipple_bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
g++ -std=c++20 -O3 -march=native -DDEG=5 -DREPS=5 "$prototype" -o "$work/prototype" -lpthread

best() { sort -g | head -n 1; }
for scene in "1M/720p 1000000 1280 720 1.5" "2k/136p 2000 245 136 4"; do
  set -- $scene
  for _ in $(seq "$runs"); do
    COH=1 "$work/prototype" "$2" "$3" "$4" "$5" 2 >"$work/said"
    sed -n 's/^fwd \([0-9.]*\) ms.*/\1/p' "$work/said" >>"$work/$2.blend.prototype"
    sed -n 's/^bwd \([0-9.]*\) ms.*/\1/p' "$work/said" >>"$work/$2.blend_backward.prototype"
    "$bench" --benchmark_filter="^blend.*/cpu/$1" --benchmark_min_time=0.5 --benchmark_format=csv 2>/dev/null |
      tr -d '"' >"$work/said"
    for stage in blend blend_backward; do
      awk -F, -v name="$stage/cpu/$1" 'index($1, name "/") == 1 {print $3}' "$work/said" >>"$work/$2.$stage.stipple"
    done
  done
  for stage in blend blend_backward; do
    echo "$stage/cpu/$1: stipple $(best <"$work/$2.$stage.stipple"), prototype $(best <"$work/$2.$stage.prototype")"
  done
done
