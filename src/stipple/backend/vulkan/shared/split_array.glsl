// SPDX-License-Identifier: Apache-2.0
// Arrays that a kernel accesses anywhere may be larger than a binding can be on some devices. Such an array has four
// consecutive bindings, and each holds 2^piece_log2 words of it. On other devices piece_log2 is 0 and the first
// binding holds everything; the compiler then removes the rest.

#define SPLIT_ARRAY(access, type, name, first_binding)                                           \
  layout(std430, binding = first_binding) access buffer name##_block0 { type name##_0[]; };      \
  layout(std430, binding = first_binding + 1) access buffer name##_block1 { type name##_1[]; };  \
  layout(std430, binding = first_binding + 2) access buffer name##_block2 { type name##_2[]; };  \
  layout(std430, binding = first_binding + 3) access buffer name##_block3 { type name##_3[]; };

// `shift` is the logarithm of the elements in a piece.
#define SPLIT_LOAD(type, name, shift)                     \
  type load_##name(uint i) {                              \
    if (piece_log2 == 0) return name##_0[i];              \
    uint piece = i >> (shift);                            \
    uint at = i & ((1u << (shift)) - 1u);                 \
    if (piece == 0u) return name##_0[at];                 \
    if (piece == 1u) return name##_1[at];                 \
    if (piece == 2u) return name##_2[at];                 \
    return name##_3[at];                                  \
  }

#define SPLIT_STORE(type, name, shift)                    \
  void store_##name(uint i, type value) {                 \
    uint piece = piece_log2 == 0 ? 0u : i >> (shift);     \
    uint at = piece_log2 == 0 ? i : i & ((1u << (shift)) - 1u); \
    if (piece == 0u) name##_0[at] = value;                \
    else if (piece == 1u) name##_1[at] = value;           \
    else if (piece == 2u) name##_2[at] = value;           \
    else name##_3[at] = value;                            \
  }

#define READ_SPLIT(type, name, first_binding, shift)           \
  SPLIT_ARRAY(readonly, type, name, first_binding)             \
  SPLIT_LOAD(type, name, shift)
#define WRITE_SPLIT(type, name, first_binding, shift)          \
  SPLIT_ARRAY(writeonly, type, name, first_binding)            \
  SPLIT_STORE(type, name, shift)

#define WORD_SHIFT piece_log2
#define VECTOR_SHIFT (piece_log2 - 2u)
