#!/usr/bin/env bash
# devices_test.sh STIPPLE FAKE_DRIVER: choosing a backend and a device on machines with all kinds of Vulkan drivers, and with
# none. FAKE_DRIVER is the library of tests/helpers/fake_vulkan_driver.cpp; it is empty in a build without Vulkan.
fake=${2:+$(realpath "$2")}
. "$(dirname "$0")/command_test.sh"
export CUDA_VISIBLE_DEVICES="" XDG_RUNTIME_DIR=$work  # no GPU of CUDA; some Vulkan drivers complain without the folder
unset VK_DRIVER_FILES VK_LOADER_DEBUG STIPPLE_VULKAN_VALIDATION

run devices --backend best
uses_nothing_else() { [ "$status" = 0 ] && [ ! -s stderr ] && [ "$(wc -l <stdout)" = 1 ]; }
check "--backend best uses one device" uses_nothing_else
run devices --backend cpu
check "--backend cpu uses the CPU" grep -q "^cpu: " stdout
run devices --backend best --device cPu
check "--device selects the CPU by its name" grep -q "^cpu: " stdout
run devices --backend cpu --device 1
check "number out of range: the error lists the devices" \
  fails_with "there is no cpu device 1; available are 0: CPU"
run devices --backend cpu:gpu
check "unknown name: the error lists the devices" \
  fails_with "there is no cpu device with 'gpu' in its name; available are 0: CPU"
run devices --backend cpu --device ""
check "no name: the error says what is expected" fails_with "the device must be a number or a part of a name"
run devices --backend best --device abacus
check "best, unknown name: the error lists the devices of all backends" last_line_with "cpu 0: CPU"
check "best, unknown name: the error says so" fails_with "there is no device with 'abacus' in its name; available are "

run synth -o scene --views 3 --size 48x32
options="--steps 6 --max-gaussians 200 --guard off"
run train scene -o run $options --stop-at 3 --backend cpu
check "train succeeds" status_is 0
sed -i 's/"device": "0"/"device": 0/' run/options.json
check "options.json is as it was when devices were numbers" grep -q '"device": 0,' run/options.json
run train scene -o run --resume --stop-at 6
check "a run with such a file can be resumed" status_is 0

if [ -z "$fake" ]; then
  run devices
  check "a build without Vulkan does not list it" [ "$(grep -c vulkan stdout)" = 0 ]
  run devices --backend vulkan
  check "a build without Vulkan: the error says so" fails_with "this build has no backend 'vulkan'"
  finish; exit
fi

# A machine with the devices of a driver that exists only for this test.
printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.2.0"}}' "$fake" >fake.json
with_devices() { # with_devices "KIND ..." ARGUMENTS...
  local kinds=$1; shift
  STIPPLE_FAKE_DEVICES=$kinds VK_ICD_FILENAMES=$work/fake.json run "$@"
}
# All that is required where Vulkan does not work: a line that says why, and everything else works.
works_without_vulkan() { # works_without_vulkan WHAT WHY: after "run devices", in the same environment
  check "$1: devices succeeds" status_is 0
  check "$1: devices says why" grep -qxF "vulkan: $2" stdout
  check "$1: devices still lists the CPU" grep -q "^cpu: " stdout
  check "$1: nothing on stderr" [ ! -s stderr ]
}

with_devices "old software plain arc radeon" devices
check "devices succeeds" status_is 0
grep '^vulkan' stdout >listed
cat >expected <<'END'
vulkan, --device 0: Fake Radeon, 4.0 GiB, subgroups of 64
vulkan, --device 1: Fake Plain, 4.0 GiB, without subgroup operations and float atomics
vulkan, --device 2: Fake Arc, 4.0 GiB, subgroups of 16, without float atomics
vulkan, --device 3: Fake Software, software on the CPU, 4.0 GiB, subgroups of 8
vulkan, --device 4: Fake Old; cannot be used: its driver does not support Vulkan 1.2
END
check "devices lists real GPUs first, and what each lacks" diff expected listed
# The fake devices cannot be opened, so the error names the backend and device that were chosen.
with_devices "software radeon" devices --backend best
check "best prefers a real GPU with Vulkan to the CPU" fails_with "cannot open Fake Radeon"
with_devices "software radeon" devices --backend vulkan --device SOFT
check "--device selects by a part of the name" fails_with "cannot open Fake Software"
with_devices "software radeon" devices --backend vulkan:1
check "vulkan:1 is the second device" fails_with "cannot open Fake Software"
with_devices "software radeon" devices --device software
check "best selects a software device if it is named" fails_with "cannot open Fake Software"
with_devices "software radeon" devices --device 1
check "best counts within the backend that it selects" fails_with "cannot open Fake Software"
with_devices "software" devices --backend best
check "best prefers the CPU to a software device" grep -q "^cpu: " stdout
with_devices "old" devices --backend best
check "best prefers the CPU to a device that cannot be used" grep -q "^cpu: " stdout
with_devices "radeon old" devices --backend vulkan --device old
check "a device that cannot be used: the error says why" \
  fails_with "Fake Old cannot be used: its driver does not support Vulkan 1.2"
with_devices "radeon arc" devices --backend vulkan --device fake
check "ambiguous name: the error lists the devices" \
  fails_with "there are 2 vulkan devices with 'fake' in their names; choose by number from 0: Fake Radeon, 1: Fake Arc"
with_devices "radeon" devices --device geforce
check "best, unknown name: the error lists the devices of all backends" \
  fails_with "there is no device with 'geforce' in its name; available are vulkan 0: Fake Radeon, cpu 0: CPU"
with_devices "small narrow few" devices
check "devices says which device has too little shared memory" \
  says "Fake Small; cannot be used: it has 16384 bytes of shared memory, and 32768 are needed"
check "devices says which device has too few threads" \
  says "Fake Narrow; cannot be used: it runs at most 128 threads in a work group, and 256 are needed"
check "devices says which device has too few buffers" says "Fake Few; cannot be used: a kernel can use at most 16 buffers"
with_devices "small narrow" devices --backend vulkan
check "no device can be used: the error says why" \
  fails_with "the vulkan backend cannot be used: Fake Small: it has 16384 bytes of shared memory"

with_devices "" devices
works_without_vulkan "a driver without devices" "no Vulkan driver has found a device"
with_devices "" devices --backend vulkan
check "a driver without devices: --backend vulkan fails" fails_with "no Vulkan driver has found a device; use cpu or best"
with_devices broken devices
works_without_vulkan "a driver that fails" "no working Vulkan driver is installed"
with_devices broken devices --backend vulkan
check "a driver that fails: --backend vulkan fails" \
  one_line_with "the vulkan backend cannot be used: no working Vulkan driver is installed; use cpu or best"
check "a driver that fails: the exit status is 1" status_is 1
with_devices broken devices --backend best
check "a driver that fails: best uses the CPU" grep -q "^cpu: " stdout
VK_ICD_FILENAMES=/nonexistent run devices
works_without_vulkan "no driver" "no working Vulkan driver is installed"

# The loader is hidden in a namespace of our own, as if it were not installed.
loader=$(ldconfig -p | sed -n 's/.*libvulkan\.so\.1 .*=> //p' | head -n 1)
without_loader() { # without_loader ARGUMENTS...
  unshare -rm bash -c 'for file in $(dirname "$0")/libvulkan.so*; do mount --bind /dev/null "$file" || exit 99; done; exec "$@"' \
    "$loader" "$stipple" "$@" >stdout 2>stderr; status=$?
}
if [ -n "$loader" ] && unshare -rm true 2>/dev/null; then
  without_loader devices
  works_without_vulkan "no loader" "Vulkan is not installed (its loader, libvulkan.so.1, was not found)"
  without_loader devices --backend vulkan
  check "no loader: --backend vulkan fails" fails_with "the vulkan backend cannot be used: Vulkan is not installed"
  without_loader devices --backend best
  check "no loader: best uses the CPU" grep -q "^cpu: " stdout
else
  echo "skipped: hiding the Vulkan loader is not permitted"
fi

# A real software device, end to end.
run devices
if grep -q "^vulkan.*llvmpipe" stdout; then
  run fit --builtin --gaussians 50 --steps 2 -o out --backend vulkan --device LLVMpipe
  check "fit on a device given by its name succeeds" status_is 0
  run train scene -o named $options --stop-at 3 --device llvmpipe
  check "train on a device given by its name succeeds" status_is 0
  check "options.json records the name" grep -q '"device": "llvmpipe"' named/options.json
  check "options.json records the backend that it selected" grep -qx '  "backend": "vulkan",' named/options.json
  run train scene -o named --resume --stop-at 6
  check "--resume uses the same device" [ "$status" = 0 -a -n "$(grep -x '  "backend": "vulkan",' named/options.json)" ]
  # A model that is too large for the device: of the points, as many as are wanted fit only with harmonics on the host.
  large="--max-gaussians 12000 --steps 6 --guard off --backend vulkan --max-vram 0.0055"
  run train scene -o large $large --stop-at 3
  check "--offload auto: the command says that harmonics lie on the host" tells "its harmonics lie in the host's memory"
  check "--offload auto: all Gaussians fit" says "large: 12000 Gaussians, 3 steps"
  run train scene -o large --resume --max-vram 1 --stop-at 6
  check "a run is continued with more memory" says "large: 12000 Gaussians, 6 steps"
  check "with more memory, harmonics lie on the device" [ "$(cat stdout stderr | grep -c harmonics)" = 0 ]
  run train scene -o fewer $large --offload off
  check "--offload off limits the number of Gaussians" tells "the memory limits the number of Gaussians to"
  check "--offload off keeps harmonics on the device" [ "$(cat stdout stderr | grep -c harmonics)" = 0 ]
  # A device that stops working in the middle of a run.
  export STIPPLE_VULKAN_LOSE_AFTER=8
  run train scene -o none $options --backend vulkan
  check "lost device, nothing saved: the error says so" fails_with "nothing had been saved yet"
  export STIPPLE_VULKAN_LOSE_AFTER=60
  run train scene -o lost --max-gaussians 200 --guard off --steps 60 --backend vulkan \
    --checkpoint-every 1 --checkpoint-seconds 0
  check "lost device: the error says how to go on" fails_with "scene -o lost --resume continues from step"
  unset STIPPLE_VULKAN_LOSE_AFTER
  run train scene -o lost --resume
  check "lost device: the run can be resumed" status_is 0
else
  echo "skipped: this machine does not have lavapipe"
fi
finish
