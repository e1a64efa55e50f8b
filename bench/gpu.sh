#!/usr/bin/env bash
# gpu.sh [SCENE...]: tests and measures the CUDA backend on a machine with a GPU. Runs its tests, some of them under
# compute-sanitizer; times every stage beside its lower bound, and four ways of the backward pass; and trains each scene in
# full. Prints a table at the end, and fails if any check failed. STIPPLE_BUILD names a build folder, or a folder of
# binaries, to use instead of building; STIPPLE_OUT names the folder for logs and runs, out/gpu by default.
set -uo pipefail
scenes=()
for scene in "$@"; do scenes+=("$(realpath -- "$scene")") || exit 2; done
[ -z "${STIPPLE_BUILD:-}" ] || STIPPLE_BUILD=$(realpath -- "$STIPPLE_BUILD") || exit 2
[ -z "${STIPPLE_OUT:-}" ] || STIPPLE_OUT=$(realpath -m -- "$STIPPLE_OUT")
cd "$(dirname "$0")/.." || exit 1
out=${STIPPLE_OUT:-out/gpu}
mkdir -p "$out" || exit 1

table=() failed=0
row() { table+=("$(printf '%-24s %s' "$1" "$2")"); echo "gpu: $1: $2"; }
fail() { row "$1" "FAILED: $2"; failed=1; }

build() {
  echo "gpu: building in build/gpu"
  cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTIPPLE_CUDA=ON -DSTIPPLE_BENCH=ON \
    -DCMAKE_CUDA_ARCHITECTURES=native && cmake --build build/gpu
}

# find_binary NAME FOLDER: the path of a binary, in FOLDER of a build folder or in a flat folder.
find_binary() {
  local path
  for path in "$folder/$2/$1" "$folder/$1"; do
    if [ -f "$path" ] && [ -x "$path" ]; then echo "$path"; return; fi
  done
  echo "gpu: $folder has no $1" >&2
  return 1
}

# run_tests NAME FILTER [COMMAND...]: runs the tests that match FILTER, under COMMAND if given.
run_tests() {
  local name=$1 filter=$2 log=$out/$1.log start=$SECONDS status ran skipped
  shift 2
  "$@" "$tests" --gtest_filter="$filter" >"$log" 2>&1
  status=$?
  ran=$(grep -c '^\[       OK \]' "$log") skipped=$(grep -c '^\[  SKIPPED \].*ms)$' "$log")
  if [ $status = 124 ]; then fail "$name" "stopped after $((SECONDS - start)) s; see $log"
  elif [ $status != 0 ]; then fail "$name" "status $status; see $log"; tail -n 30 "$log"
  elif [ "$ran" = 0 ]; then fail "$name" "no test ran; see $log"
  else row "$name" "$ran passed, $skipped skipped in $((SECONDS - start)) s"; fi
}

# Together these run every kernel, on small inputs: the tools make kernels a hundred times slower.
steps='TrainStepTest.EqualsItsStages/cuda:TrainStepTest.NothingVisibleChangesNothing/cuda'
further='ChannelsTest.LeaveTheColour*/cuda:BatchTest.TheSameView*/cuda_deterministic:BatchTest.SumsTheGradients*/cuda'
stages='BackendTest.NothingToDrawGivesTheBackground/cuda:BackendTest.PrecomputedColors*/cuda:TrainingStagesTest.Gather*/cuda'
sanitize() {
  local tool filter
  if ! command -v compute-sanitizer >/dev/null; then row "compute-sanitizer" "not installed, skipped"; return; fi
  for tool in memcheck racecheck initcheck; do
    filter="$steps:$stages:$further"
    [ $tool != memcheck ] || filter="$filter:TrainStepTest.BuffersMayBeReusedByDifferentSteps/cuda:CudaTest.SmallCapacity*"
    run_tests "$tool" "$filter" timeout 300 compute-sanitizer --tool "$tool" --error-exitcode 9
  done
}

# measure NAME COMMAND...: runs a benchmark, and shows and keeps its output.
measure() {
  local name=$1 log=$out/$1.txt
  shift
  if "$@" >"$log" 2>&1; then cat "$log"; row "$name" "$log"
  else tail -n 20 "$log"; fail "$name" "see $log"; fi
}

# number FILE INDENT KEY: the last value of KEY at this indentation in a JSON file that Stipple wrote.
number() { sed -n "s/^ \{$2\}\"$3\": \([-+.0-9e]*\),\{0,1\}$/\1/p" "$1" | tail -n 1; }

train() {
  local scene=$1 name run metrics
  name=$(basename "$scene") run=$out/run_$(basename "$scene") metrics=$out/run_$(basename "$scene")/metrics.json
  echo "gpu: training $name"
  if ! "$stipple" train "$scene" -o "$run" --overwrite --steps 30000 --eval --backend cuda >"$run.log" 2>&1; then
    tail -n 5 "$run.log"
    fail "train $name" "see $run.log"
    return
  fi
  row "train $name" "$(printf '%.1f s, PSNR %.2f dB, %d Gaussians, peak GPU memory %.0f MiB' \
    "$(number "$metrics" 2 seconds)" "$(number "$metrics" 6 psnr)" "$(number "$metrics" 2 gaussians)" \
    "$(awk "BEGIN {print $(number "$metrics" 2 peak_device_bytes) / 1048576}")")"
}

folder=${STIPPLE_BUILD:-build/gpu}
if [ -z "${STIPPLE_BUILD:-}" ] && ! build >"$out/build.log" 2>&1; then
  tail -n 30 "$out/build.log"
  echo "gpu: the build failed; see $out/build.log" >&2
  exit 1
fi
stipple=$(find_binary stipple apps/stipple) || exit 1
tests=$(find_binary stipple_tests tests) || exit 1
gpu_stages=$(find_binary stipple_gpu_stages bench) || exit 1
backward_ways=$(find_binary stipple_backward_ways bench) || exit 1
device=$("$stipple" devices | sed -n 's/^cuda: //p')
case $device in
  "") echo "gpu: this build has no CUDA backend" >&2; exit 1 ;;
  "no CUDA device"*) echo "gpu: $device" >&2; exit 1 ;;
esac

row "device" "$device"
run_tests "tests" '*cuda*:Fixtures.BackendsAgree*:*Cuda*'
sanitize
measure stages "$gpu_stages" cuda
measure ways "$backward_ways"
for scene in "${scenes[@]}"; do train "$scene"; done
echo
printf '%s\n' "${table[@]}"
exit $failed
