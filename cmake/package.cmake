# The target `package`: packages for Debian (stipple, libstipple-dev and, if they are built, stipple-mpi and, for the system's
# Python, python3-stipple), and a .tar.gz of the command with the shared libraries that it needs, which runs from any
# folder. cmake/package has what happens when they are made. docs/install.md says how to use them.
set(STIPPLE_PACKAGE_CONTACT "Stipple maintainers <maintainers@stipple.invalid>" CACHE STRING
  "Name and mail address of who makes the packages")

set(CPACK_GENERATOR "")
find_program(DPKG_SHLIBDEPS_PROGRAM dpkg-shlibdeps DOC "Finds the packages that a program needs")
if(DPKG_SHLIBDEPS_PROGRAM AND GZIP_PROGRAM)
  list(APPEND CPACK_GENERATOR DEB)
endif()
if(PATCHELF_PROGRAM)
  list(APPEND CPACK_GENERATOR TGZ)
endif()
if(NOT TARGET stipple_cli OR NOT CPACK_GENERATOR OR CMAKE_CROSSCOMPILING)
  message(STATUS "Packages: none, since they need the command, and dpkg-dev for .deb or patchelf for .tar.gz")
  return()
endif()
list(JOIN CPACK_GENERATOR " and " formats)
message(STATUS "Packages: ${formats}")

set(CPACK_PACKAGE_NAME stipple)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "3D Gaussian splatting: photographs to a 3D scene")
set(CPACK_PACKAGE_VENDOR Stipple)
set(CPACK_PACKAGE_CONTACT ${STIPPLE_PACKAGE_CONTACT})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
string(TOLOWER "stipple-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_COMPONENTS_ALL command development)  # select_components.cmake has those of the archive
if(TARGET stipple_python AND Python_EXECUTABLE MATCHES "^/usr/bin/")
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
if(TARGET stipple_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package/select_components.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package/complete.cmake)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME stipple)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
# For `stipple sfm`, videos, and the Vulkan backend.
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS "colmap, ffmpeg, libvulkan1, mesa-vulkan-drivers | vulkan-icd")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "Stipple turns photographs into a 3D scene that can be rendered from any
viewpoint, by 3D Gaussian splatting. It runs on all cores of a CPU, on
GPUs with Vulkan and, if it was built with CUDA, on NVIDIA GPUs.

This package has the command.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME stipple-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "stipple (= ${PROJECT_VERSION}-1)")
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_COMPONENT_MPI_DESCRIPTION "Stipple turns photographs into a 3D scene that can be rendered from any
viewpoint, by 3D Gaussian splatting.

This package has the module with which several processes, on one machine or
more, train one model: mpirun -n 4 stipple train scene/ -o run/ --batch 4.")

# libstipple.a leaves it to the user's program to link what it needs: see stippleConfig.cmake.in.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libstipple-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libfmt-dev, libhwy-dev, libjpeg-dev, libpng-dev, libpugixml-dev, libtbb-dev, libwebp-dev, libzip-dev, libzstd-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "cmake, g++")
if(STIPPLE_HAS_CUDA)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS ", nvidia-cuda-toolkit")
endif()
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Stipple turns photographs into a 3D scene that can be rendered from any
viewpoint, by 3D Gaussian splatting.

This package has the static library, its headers, and the files that CMake's
find_package(stipple) reads.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-stipple)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
if(TARGET stipple_python)
  math(EXPR next_minor "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= 3.${Python_VERSION_MINOR}~), python3 (<< 3.${next_minor}), python3-numpy")
endif()
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "libvulkan1, mesa-vulkan-drivers | vulkan-icd")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-torch")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
  "${CMAKE_CURRENT_LIST_DIR}/package/python/postinst;${CMAKE_CURRENT_LIST_DIR}/package/python/prerm")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Stipple turns photographs into a 3D scene that can be rendered from any
viewpoint, by 3D Gaussian splatting.

This package has the Python module.")

# What cmake/package/complete.cmake needs; CPack passes variables on whose names begin with CPACK_.
set(CPACK_STIPPLE_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_STIPPLE_GZIP ${GZIP_PROGRAM})
include(CPack)
