#!/usr/bin/env bash
# shaders_compile.sh MATH_FOLDER: checks that the shared maths is valid GLSL: it must compile as GLSL 4.60 (Vulkan) and as
# GLSL ES 3.00 (WebGL2). Exit status 77 means that the test was skipped because a compiler is missing.
set -euo pipefail
math=$1
shaders=$(dirname "$0")/shaders
for tool in glslc glslangValidator; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: $tool is not installed (./setup --test installs it)"
    exit 77
  fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The files that all.glsl includes, in its order.
files=$(sed -n 's|^#include "stipple/math/\(.*\.glsl\)"|\1|p' "$math/all.glsl")
[ "$(echo "$files" | wc -w)" = "$(find "$math" -name '*.glsl' ! -name language.glsl ! -name all.glsl | wc -l)" ] ||
  { echo "all.glsl does not include every .glsl file of $math"; exit 1; }

maths() { for file in language.glsl $files; do cat "$math/$file"; done; }

# Every function is called (shaders/every_function.glsl), and the results contribute to an output, so that the compilers
# cannot discard any as unused.
calls() {
  echo 'uint next = 0u; float sum = 0.0;'
  echo 'uint take_word() { ++next; return floatBitsToUint(x * float(next)); }'
  echo 'void give_word(uint word) { sum += uintBitsToFloat(word); }'
  cat "$shaders/stream.glsl" "$shaders/every_function.glsl"
}
{ echo '#version 460'; maths
  echo 'layout(local_size_x = 1) in; layout(set = 0, binding = 0) buffer Data { float x; float result; uint section; };'
  calls
  echo 'void main() { evaluate(section); result = sum; }'
} >"$work/maths.comp"
{ echo '#version 300 es'; echo 'precision highp float; precision highp int;'; maths
  echo 'in float x; out vec4 result; uniform uint section;'
  calls
  echo 'void main() { evaluate(section); result = vec4(sum); }'
} >"$work/maths.frag"

glslc --target-env=vulkan1.2 -Werror -O "$work/maths.comp" -o "$work/maths.spv"
echo "GLSL 4.60: compiles"
glslangValidator "$work/maths.frag" >"$work/es.log" 2>&1 || { cat "$work/es.log"; exit 1; }
echo "GLSL ES 3.00: compiles"
