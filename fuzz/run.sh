#!/usr/bin/env bash
# Builds the fuzz targets and runs each for the given time, as many at once as there are cores: fuzz/run.sh SECONDS
# [TARGET ...]. New inputs go to build/fuzz/found. If an input crashes a target, it is kept there as crash-*, and the exit
# status is 1.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET ...]}
shift
if [ $# = 0 ]; then  # each fuzz_*.cpp is a target
  set -- fuzz/fuzz_*.cpp
  set -- "${@#fuzz/fuzz_}"
  set -- "${@%.cpp}"
fi
flags="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all"
mkdir -p build/fuzz/found
if ! { CXX=${CXX:-clang++-16} cmake -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS="$flags" \
         -DSTIPPLE_FUZZ=ON -DSTIPPLE_ONE_VECTOR_WIDTH=ON -DSTIPPLE_CUDA=OFF -DSTIPPLE_VULKAN=OFF -DSTIPPLE_PYTHON=OFF \
         -DSTIPPLE_APPS=OFF -DSTIPPLE_EXAMPLES=OFF -DSTIPPLE_TESTS=OFF &&
       cmake --build build/fuzz -- $(printf 'fuzz_%s ' "$@"); } >build/fuzz/build.log 2>&1; then
  tail -n 20 build/fuzz/build.log
  exit 1
fi

run_target() { # run_target SECONDS TARGET
  local found=build/fuzz/found/$2
  mkdir -p "$found"
  if build/fuzz/fuzz/fuzz_"$2" -max_total_time="$1" -max_len=65536 -timeout=25 -rss_limit_mb=2048 -malloc_limit_mb=1024 \
    -artifact_prefix="$found/" "$found" fuzz/corpus/"$2" >"$found.log" 2>&1; then
    echo "$2: clean, $(grep -oE '^#[0-9]+' "$found.log" | tail -n 1 | tr -d '#') runs"
  else
    echo "$2: FAILED, see $found.log"
    return 1
  fi
}
export -f run_target
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c "run_target $seconds {}"
