// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands for the iterators of Thrust that the CUDA backend uses, as far as the functions in include/cub need
// them.

namespace thrust {

template <class T, class Index>
struct PermutationIterator {
  T* elements;
  Index index;
  T& operator[](int i) const { return elements[index[i]]; }
};
template <class T, class Index>
PermutationIterator<T, Index> make_permutation_iterator(T* elements, Index index) {
  return {elements, index};
}

}  // namespace thrust
