# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: CMake builds the module, which contains the library. All other settings are in pyproject.toml."""
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Optional

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent


def version() -> str:
    """The version of the library, from CMakeLists.txt."""
    found = re.search(r"project\(stipple VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    if not found:
        sys.exit("setup.py: CMakeLists.txt does not set the version")
    return found.group(1)


def portable_platform() -> Optional[str]:
    """The platform of a wheel that brings its shared libraries along: any Linux whose glibc is as new as this one's. None
    where that cannot be made; such a wheel needs the libraries of the system on which it was built."""
    name, libc = platform.libc_ver()
    if sys.platform != "linux" or name != "glibc" or not shutil.which("patchelf"):
        return None
    major, minor = libc.split(".")[:2]
    return f"manylinux_{major}_{minor}_{platform.machine()}"


class CMakeBuild(build_ext):
    """Builds only the module. The environment variable STIPPLE_CMAKE_ARGS may hold further arguments for CMake, and
    STIPPLE_BUILD_DIR may name a CMake build of this source that already has the module."""

    def build_extension(self, ext: Extension) -> None:
        existing = os.environ.get("STIPPLE_BUILD_DIR")
        folder = Path(existing or self.build_temp).resolve()
        if not existing:
            self.build_with_cmake(folder)
        target = Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        (built,) = (folder / "python" / "stipple").glob("_stipple*.so")
        self.copy_file(str(built), str(target))
        if portable_platform() and not self.inplace:
            self.bundle_libraries(target)

    def bundle_libraries(self, module: Path) -> None:
        """Puts the libraries into a folder beside the package, where the module then looks for them."""
        folder = module.parent.parent / "stipple.libs"
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.check_call(["strip", "--strip-unneeded", str(module)])
        options = {"FILE": module, "FOLDER": folder, "RPATH": "$ORIGIN/../stipple.libs", "PATCHELF": shutil.which("patchelf")}
        script = ROOT / "cmake" / "package" / "bundle_libraries.cmake"
        subprocess.check_call(["cmake", *(f"-D{key}={value}" for key, value in options.items()), "-P", str(script)])

    def build_with_cmake(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "Python_EXECUTABLE": sys.executable,
            "STIPPLE_PYTHON": "ON",
            "STIPPLE_APPS": "OFF",
            "STIPPLE_EXAMPLES": "OFF",
            "STIPPLE_TESTS": "OFF",
        }
        try:  # CMake does not find a pybind11 that pip installed
            import pybind11

            options["pybind11_DIR"] = pybind11.get_cmake_dir()
        except ImportError:  # CMake finds the system's
            pass
        arguments = [f"-D{key}={value}" for key, value in options.items()]
        arguments += os.environ.get("STIPPLE_CMAKE_ARGS", "").split()
        subprocess.check_call(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *arguments])
        subprocess.check_call(["cmake", "--build", str(folder), "--target", "stipple_python"])


class PlatformWheel(bdist_wheel):
    """Names the platforms on which the wheel works, unless --plat-name does."""

    def finalize_options(self) -> None:
        self.plat_name = self.plat_name or portable_platform()
        super().finalize_options()


setup(
    version=version(),
    ext_modules=[Extension("stipple._stipple", [])],
    cmdclass={"build_ext": CMakeBuild, "bdist_wheel": PlatformWheel},
)
