// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands for the iterators of Thrust that the CUDA backend uses, as far as the functions in include/cub need
// them.

namespace thrust {

template <class T>
struct CountingIterator {
  T first;
  T operator[](int i) const { return first + static_cast<T>(i); }
};
template <class T>
CountingIterator<T> make_counting_iterator(T first) {
  return {first};
}

}  // namespace thrust
