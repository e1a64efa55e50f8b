#!/usr/bin/env bash
# shaders_translate.sh WRITE_SHADERS: checks that the kernels of the Vulkan backend can run anywhere. WRITE_SHADERS is the
# program stipple_write_shaders of this build, which writes each kernel as the driver gets it.
#
# Every kernel must be valid, keep to the limits below, and translate to MSL, as MoltenVK does, and to HLSL. The translator
# succeeds even where its result is wrong, so the result is checked, too. A kernel may use what some devices lack only if
# its name says so, and only if there is another kernel for these devices:
#
#   *_atomics*    float atomics, which older translators turn into an invalid atomicAdd(); there is *_swaps*
#   *_subgroups   subgroup operations, of which HLSL lacks one; there is the same without _subgroups
#
# At the end, every check is shown something wrong, and must find it. Exit status 77 means that the test was skipped because
# a tool is missing.
set -euo pipefail
write_shaders=$(realpath "$1")
facts_script=$(dirname "$(realpath "$0")")/helpers/spirv_facts.awk
for tool in spirv-cross spirv-val spirv-dis; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: $tool is not installed (./setup --test installs it)"
    exit 77
  fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# What adapter.cpp asks of a device, and no more than Vulkan or Metal guarantee.
most_bindings=28 most_threads=256 most_shared_bytes=32768 most_push_bytes=128

fact() { awk -v name="$1" '$1 == name { print $2 }' "$2"; }
count() { grep -oE "$1" "$2" | wc -l || true; }

# The complaints about a kernel, from its facts (helpers/spirv_facts.awk); nothing if it is good.
check_facts() {  # name facts
  local allowed=" Shader " what
  case $1 in *_atomics*) allowed+="AtomicFloat32AddEXT SPV_EXT_shader_atomic_float_add " ;; esac
  case $1 in *_subgroups) allowed+="GroupNonUniform GroupNonUniformArithmetic GroupNonUniformShuffle " ;; esac
  for what in $(fact error "$2") $(fact capability "$2") $(fact extension "$2"); do
    [[ $allowed == *" $what "* ]] || echo "uses $what"
  done
  at_most() { [ "$2" -le "$3" ] || echo "has $2 $1, more than $3"; }
  at_most bindings "$(fact bindings "$2")" $most_bindings
  at_most threads "$(fact threads "$2")" $most_threads
  [ "$(fact threads "$2")" -gt 0 ] || echo "has no fixed number of threads"
  at_most "bytes of shared memory" "$(fact shared_bytes "$2")" $most_shared_bytes
  at_most "bytes of push constants" "$(fact push_bytes "$2")" $most_push_bytes
}

# The complaints about a translation.
check_text() {  # language text facts
  local entry barrier atomic names name
  if [ "$1" = msl ]; then
    entry='^kernel void ' barrier='threadgroup_barrier\([a-z_:| ]*mem_threadgroup\)'
    atomic='\batomic_[a-z_]+_explicit\('
  else
    entry='^\[numthreads\(' barrier='\b(All|Group)MemoryBarrierWithGroupSync\(' atomic='\bInterlocked[A-Za-z]+\('
  fi
  same() { [ "$2" = "$3" ] || echo "has $3 $1 instead of $2"; }
  same "entry points" 1 "$(count "$entry" "$2")"
  same barriers "$(fact barriers "$3")" "$(count "$barrier" "$2")"
  same atomics "$(fact atomics "$3")" "$(count "$atomic" "$2")"
  if [ "$1" = msl ]; then
    [ "$(count '\b(simd_[a-z_]+|spvSubgroup[A-Za-z]+)\(' "$2")" -ge "$(fact subgroup_operations "$3")" ] ||
      echo "lacks subgroup operations"
    grep -oE '\[\[buffer\([0-9]+\)\]\]' "$2" | tr -dc '0-9\n' | awk '$1 > 30 { print "uses buffer", $1 }' || true
  else
    same threads "$(fact threads "$3")" "$(sed -n 's/^\[numthreads(\(.*\))\]/\1/p' "$2" | awk -F, '{ print $1 * $2 * $3 }')"
  fi
  grep -oE '\b(atomic[A-Z]\w*|subgroup[A-Z]\w*|(memoryB|b)arrier\w*|\w+BitsTo[A-Z]\w+|inversesqrt)\(' "$2" |
    sort -u | sed 's/^/contains GLSL: /' || true
  names=$(grep -oE '\bgl_\w+' "$2" | sort -u) || true
  for name in $names; do
    grep -qE "\b(uint|int|float|bool)[234]? $name\b" "$2" || echo "does not declare $name"
  done
}

failed=0
complain() {  # name what, with the complaints as input
  local complaint
  while read -r complaint; do
    echo "$1: ${2:+$2 }$complaint"
    failed=1
  done
}

validate() { spirv-val --target-env vulkan1.2 "$1" 2>&1 || echo "the validator failed"; }
# 2.1 is the lowest version of MSL that has subgroup operations.
translate_msl() { spirv-cross --msl --msl-version 20100 "$1.spv" >"$1.msl"; }
translate_hlsl() { spirv-cross --hlsl --shader-model 60 "$1.spv" >"$1.hlsl"; }

"$write_shaders" .
kernels=$(ls -- *.spv | sed 's/\.spv$//')
for name in $kernels; do
  complain "$name" "is not valid:" < <(validate "$name.spv")
  spirv-dis --raw-id --no-indent "$name.spv" >"$name.dis"
  awk -f "$facts_script" "$name.dis" >"$name.facts"
  complain "$name" "" < <(check_facts "$name" "$name.facts")

  substitute=${name%_subgroups}
  substitute=${substitute/_atomics/_swaps}
  [ -f "$substitute.spv" ] || complain "$name" "has no substitute" <<<"$substitute"

  complain "$name" "does not translate to MSL:" < <(translate_msl "$name" 2>&1 || echo "the translator failed")
  if [[ $name != *_atomics* ]] || grep -q atomic_float "$name.msl"; then  # for the others, see the end
    complain "$name" MSL < <(check_text msl "$name.msl" "$name.facts")
  fi
  if translate_hlsl "$name" 2>"$name.refused"; then
    complain "$name" HLSL < <(check_text hlsl "$name.hlsl" "$name.facts")
  elif [ "$substitute" = "$name" ]; then
    complain "$name" "does not translate to HLSL:" <"$name.refused"
  fi
done

# The checks must find what they are for. Each line below spoils something that is right otherwise.
expect() {  # complaint all_complaints
  [[ $2 == *"$1"* ]] || { echo "the checks do not find: $1"; failed=1; }
}
spoil_facts() { sed "$2" blend.facts >spoilt && check_facts "$1" spoilt; }
spoil() { sed "$3" "$2.$1" >spoilt && check_text "$1" spoilt "$2.facts"; }
for unwanted in Int64 Float64 Int64Atomics Float16 StorageBuffer8BitAccess StorageBuffer16BitAccess VulkanMemoryModel \
    PhysicalStorageBufferAddresses AtomicFloat32AddEXT GroupNonUniform; do
  expect "uses $unwanted" "$(spoil_facts blend "1i capability $unwanted")"
done
expect "uses GroupNonUniform" "$(check_facts emit emit_subgroups.facts)"
expect "uses AtomicFloat32AddEXT" "$(check_facts blend_backward_swaps blend_backward_atomics.facts)"
expect "has 29 bindings" "$(spoil_facts blend 's/^bindings .*/bindings 29/')"
expect "has 257 threads" "$(spoil_facts blend 's/^threads .*/threads 257/')"
expect "has no fixed number" "$(spoil_facts blend 's/^threads .*/threads 0/')"
expect "has 32769 bytes of shared memory" "$(spoil_facts blend 's/^shared_bytes .*/shared_bytes 32769/')"
expect "has 132 bytes of push constants" "$(spoil_facts blend 's/^push_bytes .*/push_bytes 132/')"
for language in msl hlsl; do
  expect "has 3 barriers instead of 4" "$(spoil $language blend '0,/threadgroup_barrier\|BarrierWithGroupSync/s///')"
  expect "has 0 entry points" "$(spoil $language blend 's/^kernel void\|^\[numthreads//')"
  expect "has 2 entry points" "$(spoil $language blend '/^kernel void\|^\[numthreads/p')"
  expect "atomics instead of" "$(spoil $language blend 's/atomic_fetch_add_explicit\|InterlockedAdd/add/')"
  expect "contains GLSL: atomicAdd(" "$(spoil $language blend '$a atomicAdd(_1, 1u);')"
  expect "contains GLSL: subgroupAdd(" "$(spoil $language blend '$a subgroupAdd(_1);')"
  expect "does not declare gl_WorkGroupID" "$(spoil $language blend 's/uint3 gl_WorkGroupID/uint3 other/')"
done
expect "has 3 barriers instead of 4" "$(spoil msl blend '0,/mem_threadgroup/s//mem_none/')"
expect "has 128 threads instead of 64" "$(spoil hlsl blend 's/^\[numthreads(64,/[numthreads(128,/')"
expect "uses buffer 31" "$(spoil msl blend 's/buffer(1)/buffer(31)/')"
expect "lacks subgroup operations" "$(spoil msl emit_subgroups 's/simd_[a-z_]*(/sum(/')"
head -c -4 blend.spv >spoilt.spv
expect "the validator failed" "$(validate spoilt.spv)"
# An older translator silently leaves atomicAdd() in MSL.
for name in $kernels; do
  if [[ $name == *_atomics* ]] && ! grep -q atomic_float "$name.msl"; then
    expect "contains GLSL: atomicAdd(" "$(check_text msl "$name.msl" "$name.facts")"
  fi
done

[ $failed = 0 ] && echo "$(wc -w <<<"$kernels") kernels translate"
exit $failed
