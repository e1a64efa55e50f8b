#!/usr/bin/env bash
# wheel_test.sh PYTHON SOURCE BUILD checks that `pip wheel` makes a wheel that works without the sources. The module is
# that of an existing build, since only the packaging is tested; that CMake can configure the build that `pip` would start
# is checked without compiling. Exits with 77 if Python packages are missing.
set -euo pipefail
python=$1 source=$2 build=$3
for package in pip setuptools wheel numpy; do
  "$python" -c "import $package" 2>/dev/null || { echo "skipped: $python has no $package; ./setup --test installs it"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# From a copy, since setuptools writes files into the source folder.
mkdir "$folder/source"
(cd "$source" && cp -r CMakeLists.txt README.md LICENSE pyproject.toml setup.py cmake src bindings "$folder/source")
cd "$folder"
cmake -S source -B configured -G Ninja -DPython_EXECUTABLE="$python" -DSTIPPLE_PYTHON=ON -DSTIPPLE_APPS=OFF \
  -DSTIPPLE_EXAMPLES=OFF -DSTIPPLE_TESTS=OFF -DSTIPPLE_CUDA=OFF >configure.log || { cat configure.log; exit 1; }
ninja -C configured -n stipple_python >/dev/null
STIPPLE_BUILD_DIR=$build "$python" -m pip wheel --no-build-isolation --no-deps --quiet -w "$folder" ./source
# Where patchelf is installed, the wheel brings every library that the module needs and works on any Linux as new as this.
if command -v patchelf >/dev/null && [ "$(uname -s)" = Linux ]; then
  ls stipple-*-manylinux_*.whl >/dev/null || { echo "FAILED: the name of the wheel does not say where it works"; exit 1; }
  "$python" -m zipfile -e stipple-*.whl unpacked
  outside=$(env -i ldd unpacked/stipple/_stipple*.so unpacked/stipple.libs/*.so* | grep '=>' | grep -v "$folder/unpacked/" |
    sed 's/^[[:space:]]*//; s/ =>.*//' | grep -vE '^(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|linux-vdso)\.so' || true)
  [ -z "$outside" ] || { echo "FAILED: the wheel lacks $outside"; exit 1; }
fi
"$python" -m pip install --quiet --no-deps --target "$folder/site" "$folder"/stipple-*.whl
PYTHONPATH=$folder/site "$python" - "$folder" <<'PYTHON'
import sys
from pathlib import Path
import numpy as np
import stipple
package = Path(stipple.__file__).parent
assert str(package).startswith(sys.argv[1]), package
assert (package / "py.typed").exists() and (package / "compat" / "gsplat.py").exists()
one = stipple.Gaussians([[0, 0, 4]], [[-1, -1, -1]], [[1, 0, 0, 0]], [2.0], [[[1, 1, 1]]])
image = stipple.render(one, stipple.Camera(np.eye(4), 20, 20, 8, 8, 16, 16))
assert image.alpha.max() > 0.5
print("wheel", stipple.__version__)
PYTHON
