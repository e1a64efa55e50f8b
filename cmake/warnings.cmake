# Every target of this project links this, and none of its users' targets do. Only CI turns the warnings into errors, with
# CMAKE_COMPILE_WARNING_AS_ERROR, so that the new warnings of a newer compiler never break a user's build.
add_library(stipple_warnings INTERFACE)
target_compile_options(stipple_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wno-sign-conversion>)
