# Rules for `cmake --install`, and the package files that find_package(stipple) reads.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stipple)

install(TARGETS stipple EXPORT stipple_targets FILE_SET HEADERS)
install(EXPORT stipple_targets FILE stipple_targets.cmake NAMESPACE stipple:: DESTINATION ${package_dir})
if(TARGET stipple_cli)
  install(TARGETS stipple_cli)
endif()

configure_package_config_file(cmake/stippleConfig.cmake.in stippleConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(stippleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stippleConfig.cmake ${PROJECT_BINARY_DIR}/stippleConfigVersion.cmake
  DESTINATION ${package_dir})
