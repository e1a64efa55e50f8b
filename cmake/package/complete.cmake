# Run by cpack when the files of all components are in their folders, before it makes packages of them.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()

# Writes a file and compresses it, without the time, so that the same input gives the same package.
function(write_compressed file text)
  file(WRITE ${file} "${text}")
  execute_process(COMMAND ${CPACK_STIPPLE_GZIP} -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD ${file}.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

# What Debian wants to find in every package: the licence and two lists of changes, of the program and of its packaging.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(READ ${CPACK_STIPPLE_SOURCE_DIR}/CHANGELOG.md changes)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(doc ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share/doc/${package})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${doc}/copyright COPYONLY)
  write_compressed(${doc}/changelog "${changes}")
  write_compressed(${doc}/changelog.Debian "stipple (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * The file changelog.gz beside this one lists the changes.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
endforeach()

# Where Debian's zsh looks for completions that packages bring.
set(zsh ${CPACK_TEMPORARY_DIRECTORY}/command/usr/share/zsh)
if(EXISTS ${zsh}/site-functions)
  file(RENAME ${zsh}/site-functions ${zsh}/vendor-completions)
endif()
