#!/usr/bin/env bash
# vulkan_suite.sh TESTS FILTER [DRIVER]: runs the tests of the Vulkan backend that match a filter, with the validation layers if
# they are installed, and with the driver that a file describes instead of those of the system. One process runs them all, because it takes longer to open the device and compile the kernels than to run
# most tests. Exit status 77 means that there is no Vulkan device, or not this driver.
set -uo pipefail
tests=$1 filter=$2 driver=${3:-}
if [ -n "$driver" ]; then
  [ -e "$driver" ] || { echo "skipped: there is no $driver"; exit 77; }
  export VK_ICD_FILENAMES=$driver VK_DRIVER_FILES=$driver
fi
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-${TMPDIR:-/tmp}}  # otherwise Mesa complains
layer=$(find /usr/share/vulkan /usr/local/share/vulkan /etc/vulkan -name 'VkLayer_khronos_validation.json' 2>/dev/null)
if [ -n "$layer" ]; then
  export STIPPLE_VULKAN_VALIDATION=1
else
  echo "the validation layers are not installed (./setup --test installs them): running without"
fi
[ "$("$tests" --gtest_filter="$filter" --gtest_list_tests | grep -c '^  ')" -gt 0 ] || { echo "no test matches $filter"; exit 1; }
log=$("$tests" --gtest_filter="$filter" --gtest_brief=1 2>&1)
status=$?
echo "$log"
[ $status = 0 ] || exit $status
if grep -q '^\[  PASSED  \] 0 tests' <<<"$log"; then
  echo "skipped: no Vulkan device"
  exit 77
fi
