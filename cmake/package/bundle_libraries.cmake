# Makes a program or module independent of the packages it was built with: copies the shared libraries that it needs, and
# those that they need, into a folder, and makes it and them look there. Also copies their licences, where the system is
# Debian or a relative of it. The libraries get names of their own, so that a process which has loaded another version of
# one, as Python's other modules and Vulkan's drivers may have, gets both.
#
#   cmake -DFILE=bin/stipple -DFOLDER=lib/stipple -DRPATH=$ORIGIN/../lib/stipple -DPATCHELF=patchelf -P bundle_libraries.cmake
#
# The libraries of the C and C++ compilers stay those of the system. They are compatible with older programs, and a
# driver of Vulkan, loaded into the same process, may need newer ones than this program brought along.
cmake_minimum_required(VERSION 3.25)
set(of_the_system "^(ld-.*|lib(c|m|dl|rt|pthread|resolv|util|anl|gcc_s|stdc\\+\\+|atomic))\\.so")

function(patch)
  execute_process(COMMAND ${PATCHELF} ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(GET_RUNTIME_DEPENDENCIES LIBRARIES ${FILE} PRE_EXCLUDE_REGEXES ${of_the_system}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing)
if(missing)
  message(FATAL_ERROR "${FILE} needs libraries that were not found: ${missing}")
endif()

file(MAKE_DIRECTORY ${FOLDER})
set(copies "")
set(new_names "")  # arguments for patchelf
foreach(library IN LISTS libraries)
  cmake_path(GET library FILENAME name)
  file(REAL_PATH ${library} real)
  file(SHA256 ${real} hash)
  string(SUBSTRING ${hash} 0 8 hash)
  string(REGEX REPLACE "\\.so" "-${hash}.so" new_name ${name})
  file(COPY_FILE ${real} ${FOLDER}/${new_name})
  file(CHMOD ${FOLDER}/${new_name} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  patch(--set-soname ${new_name} ${FOLDER}/${new_name})
  list(APPEND copies ${FOLDER}/${new_name})
  list(APPEND new_names --replace-needed ${name} ${new_name})
endforeach()
# One call for each kind of change: patchelf 0.14 mixes up the strings of a file if it makes both at once.
foreach(file IN LISTS copies FILE)
  if(new_names)
    patch(${new_names} ${file})
  endif()
endforeach()
foreach(copy IN LISTS copies)
  patch(--set-rpath $ORIGIN ${copy})
endforeach()
patch(--set-rpath ${RPATH} ${FILE})

# The licences of the packages from which the libraries come, and of libraries that are headers alone.
set(packages libcli11-dev libnanoflann-dev libvulkan-volk-dev nlohmann-json3-dev pybind11-dev)
find_program(DPKG_QUERY dpkg-query)
if(DPKG_QUERY)
  foreach(library IN LISTS libraries)
    file(REAL_PATH ${library} real)
    # On systems where /lib is a link to /usr/lib, the package may know the file by either path.
    string(REGEX REPLACE "^/usr/lib/" "/lib/" other ${real})
    execute_process(COMMAND ${DPKG_QUERY} --search ${real} ${other} OUTPUT_VARIABLE owner ERROR_QUIET)
    if(owner MATCHES "^([^:,]+)")
      list(APPEND packages ${CMAKE_MATCH_1})
    endif()
  endforeach()
endif()
list(REMOVE_DUPLICATES packages)
foreach(package IN LISTS packages)
  set(copyright /usr/share/doc/${package}/copyright)
  if(EXISTS ${copyright})
    file(REAL_PATH ${copyright} copyright)
    configure_file(${copyright} ${FOLDER}/licenses/${package}.txt COPYONLY)
  endif()
endforeach()
