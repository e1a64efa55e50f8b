# stipple_compile_together(target group files...) compiles these files of a target as one, because they would parse the same
# headers and compile the same inline functions: each then takes a third of the time. Names of files in a group must differ,
# also those in unnamed namespaces; a file whose names are taken goes into another group or into none. (Two functions of one
# name compile if their parameters differ, but a call that converts its arguments may find the wrong one; so tests, which
# have many helpers of the same name, are not grouped.) Without precompiled
# headers, as in the preset dev, each file is compiled by itself, so that missing #includes show.
function(stipple_compile_together target group)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP ${group})
  endif()
endfunction()
