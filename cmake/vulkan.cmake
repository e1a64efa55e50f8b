# Decides whether to build the Vulkan backend: STIPPLE_VULKAN is the request (AUTO, ON or OFF), STIPPLE_HAS_VULKAN the
# result. The build needs headers and a shader compiler; the Vulkan library itself is loaded at run time.
set(STIPPLE_VULKAN AUTO CACHE STRING "Build the Vulkan backend: ON, OFF, or AUTO (if the headers and glslc are found)")
set(STIPPLE_HAS_VULKAN OFF)

set(why_no_vulkan "")
if(STIPPLE_VULKAN STREQUAL "OFF")
  set(why_no_vulkan "STIPPLE_VULKAN is OFF")
else()
  find_path(VULKAN_INCLUDE vulkan/vulkan.h DOC "Vulkan's headers")
  find_path(VOLK_INCLUDE volk.h DOC "volk, which loads the Vulkan library at run time")
  find_program(GLSLC glslc DOC "The compiler of the Vulkan backend's kernels")
  if(NOT VULKAN_INCLUDE)
    set(why_no_vulkan "Vulkan's headers were not found (Debian: libvulkan-dev)")
  elseif(NOT VOLK_INCLUDE)
    set(why_no_vulkan "volk.h was not found (Debian: libvulkan-volk-dev)")
  elseif(NOT GLSLC)
    set(why_no_vulkan "glslc was not found")
  endif()
endif()

if(NOT why_no_vulkan)
  set(STIPPLE_HAS_VULKAN ON)
  message(STATUS "Vulkan backend: built with ${GLSLC}")
elseif(STIPPLE_VULKAN STREQUAL "ON")
  message(FATAL_ERROR "STIPPLE_VULKAN is ON, but ${why_no_vulkan}")
else()
  message(STATUS "Vulkan backend: not built, since ${why_no_vulkan}")
endif()

# Compiles a kernel to SPIR-V and appends it to the lists `shader_names` and `shader_files` of the caller.
# stipple_add_shader(name source [definitions ...])
function(stipple_add_shader name source)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/shaders/${name}.inc)
  list(TRANSFORM ARGN PREPEND -D)
  add_custom_command(OUTPUT ${output}
    COMMAND ${GLSLC} --target-env=vulkan1.2 -Werror -O -mfmt=c ${ARGN} -I ${PROJECT_SOURCE_DIR}/src
      -MD -MF ${output}.d -o ${output} ${source}
    DEPENDS ${source} DEPFILE ${output}.d COMMENT "Compiling the kernel ${name}" VERBATIM)
  set(shader_names ${shader_names} ${name} PARENT_SCOPE)
  set(shader_files ${shader_files} ${output} PARENT_SCOPE)
endfunction()

# Adds the kernels in `shader_names`, as a table that find_shader() searches, to a target.
function(stipple_add_shader_table target)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/shaders)
  list(SORT shader_names COMPARE STRING)
  set(arrays "")
  set(rows "")
  foreach(name ${shader_names})
    string(APPEND arrays "const std::uint32_t ${name}_words[] =\n#include \"${CMAKE_CURRENT_BINARY_DIR}/shaders/${name}.inc\"\n;\n")
    string(APPEND rows "  {\"${name}\", ${name}_words},\n")
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/shaders/shader_table.cpp)
  file(CONFIGURE OUTPUT ${table} CONTENT "#include \"stipple/backend/vulkan/runtime/shader.h\"

namespace stipple::vulkan {

namespace {

@arrays@
const Shader kShaders[] = {
@rows@};

}  // namespace

std::span<const Shader> all_shaders() { return kShaders; }

}  // namespace stipple::vulkan
" @ONLY)
  set_source_files_properties(${table} PROPERTIES OBJECT_DEPENDS "${shader_files}")
  target_sources(${target} PRIVATE ${table})
endfunction()
