# Rules for `cmake --install`, and the package files that find_package(stipple) reads. Each file is in the component of the
# package that it belongs to (cmake/package.cmake): command, mpi, development or python.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stipple)

install(TARGETS stipple EXPORT stipple_targets COMPONENT development FILE_SET HEADERS COMPONENT development)
install(EXPORT stipple_targets FILE stipple_targets.cmake NAMESPACE stipple:: DESTINATION ${package_dir}
  COMPONENT development)
configure_package_config_file(cmake/stippleConfig.cmake.in stippleConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(stippleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stippleConfig.cmake ${PROJECT_BINARY_DIR}/stippleConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

# The component portable is the command once more, with the shared libraries that it needs, so that it runs from any folder:
# cmake --install build/release --component portable --prefix FOLDER
if(TARGET stipple_cli)
  foreach(component command portable)
    set(where COMPONENT ${component})
    if(component STREQUAL "portable")
      list(APPEND where EXCLUDE_FROM_ALL)
    endif()
    install(TARGETS stipple_cli RUNTIME ${where})
    if(TARGET stipple_completion)
      install(FILES ${completion_dir}/stipple.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 ${where})
      install(FILES ${completion_dir}/stipple DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions ${where})
      install(FILES ${completion_dir}/stipple.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d ${where})
      install(FILES ${completion_dir}/_stipple DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions ${where})
    endif()
  endforeach()
  install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} ${where})
  find_program(PATCHELF_PROGRAM patchelf DOC "Changes where a program looks for shared libraries")
  install(CODE "set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    execute_process(COMMAND \${CMAKE_COMMAND} -DFILE=\${root}/${CMAKE_INSTALL_BINDIR}/stipple -DFOLDER=\${root}/lib/stipple
      -DRPATH=\$ORIGIN/../lib/stipple -DPATCHELF=${PATCHELF_PROGRAM}
      -P ${PROJECT_SOURCE_DIR}/cmake/package/bundle_libraries.cmake COMMAND_ERROR_IS_FATAL ANY)" ${where})
endif()

if(TARGET stipple_mpi)
  install(TARGETS stipple_mpi LIBRARY DESTINATION lib/stipple COMPONENT mpi)
endif()

# Only for the package: pip installs the module elsewhere.
if(TARGET stipple_python)
  set(python_dir lib/python3/dist-packages)
  install(TARGETS stipple_python LIBRARY DESTINATION ${python_dir}/stipple COMPONENT python EXCLUDE_FROM_ALL)
  install(DIRECTORY bindings/python/stipple DESTINATION ${python_dir} COMPONENT python EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/package/METADATA
    CONTENT "Metadata-Version: 2.1\nName: stipple\nVersion: @PROJECT_VERSION@\nSummary: @PROJECT_DESCRIPTION@\nRequires-Dist: numpy\n" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/METADATA COMPONENT python EXCLUDE_FROM_ALL
    DESTINATION ${python_dir}/stipple-${PROJECT_VERSION}.dist-info)
endif()
