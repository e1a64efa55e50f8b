# Counts what a kernel uses, from its disassembly (spirv-dis --raw-id --no-indent); prints one "fact value" per line.
# Instructions are counted as they stand in the file, whether or not a loop repeats them.

# A type's bytes in shared memory, by the rules of std430: a vector of three has the room of four.
function set_bytes(type, bytes) { bytes_of[type] = bytes }

function count(fact, number) { sum[fact] += number }

function is_in(pointer, class) { return class_of[pointer] == class }

{
  has_result = $2 == "="
  result = has_result ? $1 : ""
  op = has_result ? $3 : $1
  for (i = 1; i <= NF; ++i) word[i] = has_result ? $(i + 3) : $(i + 1)  # the operands, from 1 on
}

op == "OpCapability" { print "capability", word[1] }
op == "OpExtension" { print "extension", substr(word[1], 2, length(word[1]) - 2) }
op == "OpExecutionMode" && word[2] == "LocalSize" { count("threads", word[3] * word[4] * word[5]) }
op == "OpDecorate" && word[2] == "Binding" && word[3] + 1 > sum["bindings"] { sum["bindings"] = word[3] + 1 }
op == "OpMemberDecorate" && word[3] == "Offset" { offset_of[word[1], word[2]] = word[4] }

op == "OpTypeBool" { set_bytes(result, 4) }
op == "OpTypeInt" || op == "OpTypeFloat" { set_bytes(result, word[1] / 8); components[result] = 1 }
op == "OpTypeFloat" { is_float[result] = 1 }
op == "OpTypeVector" {
  set_bytes(result, bytes_of[word[1]] * (word[2] == 3 ? 4 : word[2]))
  components[result] = word[2]
  is_float[result] = is_float[word[1]]
}
op == "OpTypeMatrix" { set_bytes(result, bytes_of[word[1]] * word[2]); components[result] = word[2] * components[word[1]] }
op ~ /^Op(Spec)?Constant$/ { constant[result] = word[2] }
op == "OpTypeArray" {
  if (!(word[2] in constant)) { print "error the length of an array is not a plain constant"; exit }
  set_bytes(result, bytes_of[word[1]] * constant[word[2]])
}
op == "OpTypeStruct" {  # its end, by the offsets where it has them
  bytes = 0
  for (i = 1; word[i] != ""; ++i)
    bytes = ((result, i - 1) in offset_of ? offset_of[result, i - 1] : bytes) + bytes_of[word[i]]
  set_bytes(result, bytes)
}
op == "OpTypePointer" { class_of_pointer[result] = word[1]; pointee[result] = word[2] }
op == "OpVariable" && word[2] == "Workgroup" { count("shared_bytes", bytes_of[pointee[word[1]]]) }
op == "OpVariable" && word[2] == "PushConstant" { count("push_bytes", bytes_of[pointee[word[1]]]) }
has_result && (word[1] in class_of_pointer) { class_of[result] = class_of_pointer[word[1]] }
has_result { type_of[result] = word[1] }

op == "OpFunction" { is_body = 1 }
is_body && op !~ /^Op(Label|SelectionMerge|LoopMerge|Function|FunctionEnd|Variable)$/ { count("instructions", 1) }
op ~ /^OpF(Add|Sub|Mul|Div|Negate|Rem|Mod)$/ || op == "OpVectorTimesScalar" { count("arithmetic", components[word[1]]) }
op == "OpDot" { count("arithmetic", 2 * components[type_of[word[2]]] - 1) }
op == "OpMatrixTimesScalar" { count("arithmetic", 9) }  # all matrices are 3 x 3
op == "OpMatrixTimesVector" || op == "OpVectorTimesMatrix" { count("arithmetic", 15) }
op == "OpMatrixTimesMatrix" { count("arithmetic", 45) }
op == "OpExtInst" && is_float[word[1]] { count("functions", components[word[1]]) }
op == "OpLoad" && is_in(word[2], "StorageBuffer") { count("buffer_loads", 1) }
op == "OpStore" && is_in(word[1], "StorageBuffer") { count("buffer_stores", 1) }
op == "OpLoad" && is_in(word[2], "Workgroup") || op == "OpStore" && is_in(word[1], "Workgroup") { count("shared_accesses", 1) }
op ~ /^OpAtomic/ { count("atomics", 1); print "atomic", op }
op == "OpControlBarrier" { count("barriers", 1) }
op ~ /^OpGroupNonUniform/ { count("subgroup_operations", 1); print "subgroup", op }

END {
  split("threads bindings push_bytes shared_bytes instructions arithmetic functions buffer_loads buffer_stores " \
        "shared_accesses atomics barriers subgroup_operations", facts, " ")
  for (i = 1; i in facts; ++i) print facts[i], sum[facts[i]] + 0
}
