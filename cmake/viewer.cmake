# Decides which page the command serves (docs/viewer.md): the viewer, bundled from viewer/src, if node and the npm packages
# that viewer/package-lock.json names are there (./setup installs them), or else viewer/plain.html. The result is
# STIPPLE_PAGE, the file to embed, and STIPPLE_HAS_VIEWER.
set(STIPPLE_VIEWER AUTO CACHE STRING "Embed the full viewer page: ON, OFF, or AUTO (if node and its npm packages are found)")
set(STIPPLE_HAS_VIEWER OFF)
set(viewer_dir ${PROJECT_SOURCE_DIR}/viewer)

set(why_no_viewer "")
if(STIPPLE_VIEWER STREQUAL "OFF")
  set(why_no_viewer "STIPPLE_VIEWER is OFF")
else()
  find_program(NODE NAMES node nodejs DOC "Runs the bundler of the viewer page")
  if(NOT NODE)
    set(why_no_viewer "node was not found (Debian: nodejs)")
  else()
    # ./setup copies the lock file there after it has installed what the file names.
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${viewer_dir}/package-lock.json
      ${viewer_dir}/node_modules/.installed RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
    if(differs)
      set(why_no_viewer "its npm packages are not installed (./setup does it)")
    endif()
  endif()
endif()

if(NOT why_no_viewer)
  set(STIPPLE_HAS_VIEWER ON)
  set(STIPPLE_PAGE ${PROJECT_BINARY_DIR}/viewer/page.html)
  message(STATUS "Viewer page: bundled with ${NODE}")
elseif(STIPPLE_VIEWER STREQUAL "ON")
  message(FATAL_ERROR "STIPPLE_VIEWER is ON, but ${why_no_viewer}")
else()
  set(STIPPLE_PAGE ${viewer_dir}/plain.html)
  message(STATUS "Viewer page: the plain one, since ${why_no_viewer}")
endif()

# Embeds the page in a target of the calling folder; `source` is the file that includes it.
function(stipple_embed_page target source)
  if(STIPPLE_HAS_VIEWER)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/viewer)
    add_custom_command(OUTPUT ${STIPPLE_PAGE}
      COMMAND ${NODE} ${viewer_dir}/build.mjs ${STIPPLE_PAGE} ${STIPPLE_PAGE}.d
      DEPENDS ${viewer_dir}/build.mjs ${viewer_dir}/index.html ${viewer_dir}/package-lock.json
      DEPFILE ${STIPPLE_PAGE}.d COMMENT "Bundling the viewer page" VERBATIM)
  endif()
  target_sources(${target} PRIVATE ${source})
  # The compiler does not report the page as a file that the object depends on.
  set_source_files_properties(${source} PROPERTIES
    OBJECT_DEPENDS ${STIPPLE_PAGE} COMPILE_DEFINITIONS STIPPLE_PAGE_FILE="${STIPPLE_PAGE}")
endfunction()
