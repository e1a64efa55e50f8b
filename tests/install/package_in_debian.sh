#!/usr/bin/env bash
# package_in_debian.sh BUILD: makes the packages and a wheel from an existing build, installs each in a bare Debian 12 as a
# newcomer would, uses it, and removes it again. Run by hand, as root, on Debian: it needs debootstrap and the network, and
# takes some minutes. The system is made in a temporary folder; with BASE=FOLDER, one that was made before is copied.
set -euo pipefail
[ $# = 1 ] && [ "$(id -u)" = 0 ] || { echo "usage (as root): package_in_debian.sh BUILD" >&2; exit 2; }
build=$(realpath "$1") source=$(realpath "$(dirname "$0")/../..")
folder=$(mktemp -d)
root=$folder/root
clean_up() { umount -l "$root"/{proc,dev} 2>/dev/null || true; rm -rf --one-file-system "$folder"; }
trap clean_up EXIT

cpack --config "$build/CPackConfig.cmake" -B "$folder/made" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
mkdir "$folder/source"
(cd "$source" && cp -r CMakeLists.txt README.md LICENSE pyproject.toml setup.py cmake src bindings "$folder/source")
STIPPLE_BUILD_DIR=$build /usr/bin/python3 -m pip wheel --no-build-isolation --no-deps -w "$folder/made" "$folder/source" \
  >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
(cd "$folder/made" && ls -sh *.deb *.tar.gz *.whl)

# The system, with the sources of packages and the settings of this one.
if [ -n "${BASE:-}" ]; then
  cp -a "$BASE" "$root"
else
  mirror=$(grep -rhoE '^(URIs: |deb )http[^ ]+' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1 | sed 's/.* //' || true)
  debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$folder/log" 2>&1 || { tail "$folder/log"; exit 1; }
fi
rm -f "$root/etc/apt/sources.list"
cp -r /etc/apt/sources.list.d /etc/apt/apt.conf.d "$root/etc/apt/"
[ ! -e /etc/apt/sources.list ] || cp /etc/apt/sources.list "$root/etc/apt/"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount --make-rslave "$root/dev"
mkdir "$root/made"
cp "$folder"/made/*.{deb,tar.gz,whl} "$root/made/"
cp -r "$source/tests/install/consumer" "$root/consumer"

chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -eu -s <<'INSIDE'
step() { echo "== $*"; }
install() { apt-get install -y --no-install-recommends "$@" >/tmp/log 2>&1 || { tail /tmp/log; exit 1; }; }
use_command() { # use_command STIPPLE
  rm -rf /tmp/scene /tmp/run
  "$1" synth -o /tmp/scene --views 12 --size 96x64 >/dev/null
  "$1" train /tmp/scene -o /tmp/run --backend cpu --steps 200 --eval --max-gaussians 3000 2>/dev/null | tail -n 3
  "$1" info /tmp/run/model.ply | head -n 1
}
use_module() { # use_module PYTHON
  "$1" -c "
import stipple
scene = stipple.load_scene('/tmp/scene')
image = stipple.render(stipple.load_ply('/tmp/run/model.ply'), scene.views[0].camera)
print('python', stipple.__file__, image.color.shape)"
}
cd /root
step "the archive, with nothing installed"
mkdir /opt/here
tar xf /made/*.tar.gz -C /opt/here
use_command /opt/here/*/bin/stipple
rm -r /opt/here

apt-get update >/dev/null
step "stipple"
install /made/stipple_*.deb
use_command stipple
stipple devices
apt-get install -s stipple 2>/dev/null | grep -q "^0 upgraded, 0 newly"  # it is complete
[ -s /usr/share/man/man1/stipple.1.gz ] || [ -e /etc/dpkg/dpkg.cfg.d/docker ]
bash -c 'source /usr/share/bash-completion/completions/stipple; COMP_WORDS=(stipple tra) COMP_CWORD=1; _stipple; [ "$COMPREPLY" = train ]'

step "python3-stipple"
install /made/python3-stipple_*.deb
use_module /usr/bin/python3

step "the wheel, in a virtual environment with only NumPy"
apt-get purge -y python3-stipple stipple >/dev/null 2>&1
apt-get autoremove --purge -y >/dev/null 2>&1
install python3-venv python3-numpy
python3 -m venv --system-site-packages /tmp/venv
/tmp/venv/bin/pip install --quiet --no-index /made/*.whl
use_module /tmp/venv/bin/python
if dpkg-query -W -f '${Package}\n' | grep -E '^lib(tbb12|fmt9|hwy1)'; then
  echo "libraries of the module were installed already, so this does not show that the wheel brings them"
  exit 1
fi

step "libstipple-dev"
install /made/libstipple-dev_*.deb g++ cmake make
mkdir headers
echo '#include <stipple/stipple.h>' >headers/all.cpp
cmake -S /consumer -B use -DHEADERS=/root/headers >/tmp/log 2>&1 && cmake --build use >>/tmp/log 2>&1 || { tail -n 30 /tmp/log; exit 1; }
use/consumer
echo "the program that uses the library works"

step "removal"
apt-get purge -y libstipple-dev >/dev/null 2>&1
left=$(find / -xdev -iname '*stipple*' -not -path '/made/*' -not -path '/tmp/*' -not -path '/proc/*' -not -path '/root/*' -not -path '/consumer/*' -not -path '/var/cache/*')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
echo "everything works, and nothing is left behind"
INSIDE
