# Decides whether to build the module with which several processes train one model: STIPPLE_MPI is the request (AUTO, ON or
# OFF), STIPPLE_HAS_MPI the result. The command itself never needs MPI: it loads the module if a launcher has started it.
set(STIPPLE_MPI AUTO CACHE STRING "Build the module for MPI: ON, OFF, or AUTO (if MPI is found)")
set(STIPPLE_HAS_MPI OFF)

if(NOT STIPPLE_MPI STREQUAL "OFF")
  set(MPI_CXX_SKIP_MPICXX ON)  # the C interface suffices
  find_package(MPI QUIET COMPONENTS CXX)
endif()
if(MPI_CXX_FOUND)
  set(STIPPLE_HAS_MPI ON)
  message(STATUS "MPI: built with version ${MPI_CXX_VERSION} of the standard")
elseif(STIPPLE_MPI STREQUAL "ON")
  message(FATAL_ERROR "STIPPLE_MPI is ON, but MPI was not found (Debian: libopenmpi-dev; ./setup --mpi installs it)")
else()
  message(STATUS "MPI: not built")
endif()

# Makes stipple_mpi.so, which a program looks for in its own folder, in ../lib/stipple, and where the loader does.
function(stipple_add_mpi_module folder)
  set(mpi ${PROJECT_SOURCE_DIR}/src/stipple/ranks/mpi)
  add_library(stipple_mpi MODULE ${mpi}/module.cpp ${mpi}/mpi_ranks.cpp)
  set_target_properties(stipple_mpi PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${folder} CXX_VISIBILITY_PRESET default)
  target_compile_features(stipple_mpi PRIVATE cxx_std_20)
  target_include_directories(stipple_mpi PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(stipple_mpi PRIVATE stipple_warnings MPI::MPI_CXX)
endfunction()
