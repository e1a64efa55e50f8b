# Installs the build into a temporary prefix and checks the result as a user of the library meets it: exactly the public
# headers are installed, each compiles by itself, and a small program builds against the package and runs.
set(work ${BUILD}/install_test)
file(REMOVE_RECURSE ${work})
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)

# What stipple.h includes, directly or not, is what is installed.
set(include ${work}/prefix/include)
execute_process(COMMAND ${CXX} -std=c++20 -I${include} -MM -x c++ ${include}/stipple/stipple.h
  OUTPUT_VARIABLE included COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "${include}/stipple/[^ \\\\\n]+" included "${included}")
list(REMOVE_DUPLICATES included)
list(SORT included)
file(GLOB_RECURSE installed ${include}/*)
list(SORT installed)
if(NOT "${included}" STREQUAL "${installed}")
  message(FATAL_ERROR "installed are\n${installed}\nbut stipple.h includes\n${included}\nsee src/stipple/public_headers.cmake")
endif()

foreach(header IN LISTS installed)
  if(header MATCHES "\\.h$")
    file(STRINGS ${header} marks REGEX "^// Part of the public interface\\.$")
    if(NOT marks)
      message(FATAL_ERROR "${header} is installed, but lacks the comment \"Part of the public interface.\"")
    endif()
    string(REPLACE "/" "_" name ${header})
    file(WRITE ${work}/headers/${name}.cpp "#include \"${header}\"\n")
  endif()
endforeach()

run(${CMAKE_COMMAND} -G Ninja -S ${CONSUMER} -B ${work}/build -DCMAKE_PREFIX_PATH=${work}/prefix -DHEADERS=${work}/headers
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer)
