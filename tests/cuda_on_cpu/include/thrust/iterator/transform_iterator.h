// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands for the iterators of Thrust that the CUDA backend uses, as far as the functions in include/cub need
// them.

namespace thrust {

template <class In, class Function>
struct TransformIterator {
  In in;
  Function function;
  auto operator[](int i) const { return function(in[i]); }
};
template <class In, class Function>
TransformIterator<In, Function> make_transform_iterator(In in, Function function) {
  return {in, function};
}

}  // namespace thrust
