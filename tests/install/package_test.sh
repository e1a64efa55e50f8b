#!/usr/bin/env bash
# package_test.sh BUILD CONSUMER CXX PYTHON: makes the packages from an existing build, unpacks them into folders, and runs
# what is in them from there: the command with an empty environment, a program that uses the library, and the Python
# module. package_in_debian.sh installs them. Exits with 77 if this build makes no packages.
set -euo pipefail
build=$1 consumer=$2 cxx=$3 python=${4:-}
[ -e "$build/CPackConfig.cmake" ] || { echo "skipped: this build makes no packages"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failures=0
check() { # check WHAT CONDITION...
  local what=$1; shift
  if "$@" >output 2>&1; then echo "ok: $what"; else echo "FAILED: $what"; cat output; failures=$((failures + 1)); fi
}
# gzip, since xz would take half a minute for what is unpacked at once.
cpack --config "$build/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B made >cpack.log 2>&1 || { cat cpack.log; exit 1; }
count() { ls made/$1 2>/dev/null | wc -l; }

# Trains a few steps and renders, with nothing but the command in its environment.
works() {
  local command
  command=$(realpath "$1")
  rm -rf scene run
  env -i "$command" synth -o scene --views 8 --size 48x32 &&
    env -i "$command" train scene -o run --backend cpu --steps 20 --max-gaussians 500 && env -i "$command" info run/model.ply
}
documented() { # documented ROOT ZSH_FOLDER: the completions and the man page are where shells and man look
  grep -q "complete -F _stipple stipple" "$1/share/bash-completion/completions/stipple" &&
    grep -q "^#compdef stipple" "$1/share/zsh/$2/_stipple" &&
    grep -q "^complete -c stipple" "$1/share/fish/vendor_completions.d/stipple.fish" &&
    zcat "$1/share/man/man1/stipple.1.gz" | grep -q '^\.TH STIPPLE 1'
}

if [ "$(count '*.tar.gz')" = 1 ]; then
  mkdir archive moved
  tar xf made/*.tar.gz -C archive
  mv archive/stipple-* moved/here
  check "archive: the command works from any folder" works moved/here/bin/stipple
  check "archive: completions and the man page" documented moved/here site-functions
  # Besides its own libraries, only those of the C and C++ compilers.
  outside() { env -i ldd moved/here/bin/stipple moved/here/lib/stipple/*.so* | grep '=>' | grep -v "$folder/moved" | sed 's/\.so.*//' | sort -u | xargs; }
  only_system() { local name; for name in $(outside); do case $name in libc | libm | libstdc++ | libgcc_s | libdl | librt | libpthread) ;; *) echo "$name"; return 1 ;; esac; done; }
  check "archive: needs no libraries but those of the compilers" only_system
  none_missing() { ! env -i ldd moved/here/bin/stipple | grep "not found"; }
  check "archive: has every library" none_missing
  check "archive: the licence of every library" [ "$(ls moved/here/lib/stipple/licenses/ | grep -c '^lib.*[0-9]')" -ge 1 ]
fi

if [ "$(count '*.deb')" -gt 0 ]; then
  for package in made/*.deb; do dpkg-deb -x "$package" root; done
  usr=$folder/root/usr
  field() { dpkg-deb -f made/"$1"_*.deb "$2"; }
  has_word() { grep -qF -- "$2" <<<"$1"; }
  check "stipple: the command works" works root/usr/bin/stipple
  check "stipple: completions and the man page" documented root/usr vendor-completions
  for library in libc6 libtbb12 libfmt9 zlib1g; do
    check "stipple: depends on $library" has_word "$(field stipple Depends)" "$library"
  done
  for program in colmap ffmpeg vulkan; do
    check "stipple: recommends $program" has_word "$(field stipple Recommends)" $program
  done
  for file in copyright changelog.gz changelog.Debian.gz; do
    for package in made/*.deb; do
      name=$(dpkg-deb -f "$package" Package)
      check "$name: has $file" [ -s "$usr/share/doc/$name/$file" ]
    done
  done
  mkdir headers
  echo '#include <stipple/stipple.h>' >headers/all.cpp
  use_library() {
    cmake -G Ninja -S "$consumer" -B use -Dstipple_ROOT="$usr" -DHEADERS="$folder/headers" -DCMAKE_CXX_COMPILER="$cxx" &&
      cmake --build use && use/consumer && grep -q "stipple_DIR:PATH=$usr/" use/CMakeCache.txt
  }
  check "libstipple-dev: find_package finds it, and a program works with it" use_library
  # What stippleConfig.cmake looks for comes with the packages on which libstipple-dev depends. CUDA is in none of them, and
  # pkg-config is not needed where CMake's own files are.
  config=$(find "$usr" -name stippleConfig.cmake)
  for library in $(sed -n 's/^ *find_dependency(\([A-Za-z_]*\).*/\L\1/p' "$config" | grep -vx -e cudatoolkit -e pkgconfig -e threads); do
    check "libstipple-dev: depends on $library" has_word "$(field libstipple-dev Depends)" "$library"
  done
  if [ "$(count 'python3-*.deb')" = 1 ] && "${python:-false}" -c 'import numpy' 2>/dev/null; then
    import_module() {
      env -i PYTHONPATH="$usr/lib/python3/dist-packages" PYTHONDONTWRITEBYTECODE=1 "$python" -c "
import numpy as np, stipple
from importlib.metadata import version
assert stipple.__file__.startswith('$usr'), stipple.__file__
assert version('stipple') == stipple.__version__
model = stipple.load_ply('run/model.ply')
assert len(model.mean) > 0"
    }
    check "python3-stipple: the module works" import_module
  fi
fi
echo "$failures failures"
[ $failures = 0 ]
