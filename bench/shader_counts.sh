#!/usr/bin/env bash
# shader_counts.sh [BUILD]: what the kernels of the Vulkan backend consist of, as a table; needs no GPU, but spirv-tools.
#
# Counted are the instructions of the optimised SPIR-V, once each, whether or not a loop repeats them. Kernels are specialised
# as for a training step on a GPU with subgroups of 32 and without limits on bindings. Of a kernel with and without subgroup
# operations, only the former is listed. Arithmetic counts every component of a vector; `functions` are exp2, min, sqrt and
# so on.
set -euo pipefail
build=${1:-build/release}
facts_script=$(dirname "$0")/../tests/helpers/spirv_facts.awk
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/tests/stipple_write_shaders" "$work"

columns="instructions arithmetic functions buffer_loads buffer_stores shared_accesses atomics barriers shared_bytes"
echo "| kernel | ${columns// / | } |" | tr _ ' '
echo "|---|${columns//[a-z_]/}" | sed 's/ /---|/g; s/$/---|/'
for file in "$work"/*.spv; do
  name=$(basename "$file" .spv)
  [ ! -f "$work/${name}_subgroups.spv" ] || continue
  constants="0:32"  # the size of a subgroup
  [ "$name" != project_backward_optimize ] || constants+=" 8:true"  # from the sums of blend_backward
  spirv-opt --set-spec-const-default-value="$constants" --freeze-spec-const --fold-spec-const-op-composite -O "$file" -o "$file"
  spirv-dis --raw-id --no-indent "$file" | awk -f "$facts_script" |
    awk -v name="$name" -v columns="$columns" '
      { value[$1] = $2 }
      END {
        count = split(columns, column, " ")
        printf "| `%s` |", name
        for (i = 1; i <= count; ++i) printf " %d |", value[column[i]]
        print ""
      }'
done
