# Every target of ours links this; nobody else's does. CI turns the warnings into errors with
# CMAKE_COMPILE_WARNING_AS_ERROR, so that a newer compiler's new warning never stops a user's build.
add_library(stipple_warnings INTERFACE)
target_compile_options(stipple_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wno-sign-conversion>)
