// SPDX-License-Identifier: Apache-2.0
#pragma once
// The update of one parameter in memory, shared by optimize and project_backward_optimize; see the note on
// contraction in gaussian_backward.cuh.
#include "stipple/backend/adam_rule.h"
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/cuda_pass.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

struct AdamArrays {  // one parameter array as plain floats
  float *value, *first_moment, *second_moment;
};

template <class T>
AdamArrays adam_arrays(DeviceArray<T>& value, DeviceArray<T>& first, DeviceArray<T>& second) {
  return {reinterpret_cast<float*>(pointer(value)), reinterpret_cast<float*>(pointer(first)),
          reinterpret_cast<float*>(pointer(second))};
}

// The arrays of every parameter.
template <class T>
using AdamArraysOf = AdamArrays;
using StepArrays = GaussianArrays<AdamArraysOf>;

inline StepArrays step_arrays(TrainState& state) {
  StepArrays arrays;
  for_each_parameter([](int, auto& value, auto& first, auto& second,
                        AdamArrays& to) { to = adam_arrays(value, first, second); },
                     state.gaussians, state.moments.first, state.moments.second, arrays);
  return arrays;
}

struct AdamSettings {
  M::AdamRule rule;  // without a learning rate, which `of` has for each parameter
  ParameterRules of;
  bool visible_only;
};

inline AdamSettings adam_settings(const AdamOptions& o, const LossOptions& loss, std::size_t gaussian_count,
                                  int view_count) {
  return {adam_rule(o), parameter_rules(o, loss, gaussian_count, view_count), o.visible_only};
}

// Whether no view of the pass has overflowed or met a value that is not finite, so that the update may run.
__device__ inline bool may_update(const ViewStatus* status, int view_count) {
  bool may = true;
  for (int v = 0; v < view_count; ++v) may = may && !status[v].is_bad && !status[v].has_overflowed;
  return may;
}

__device__ inline M::AdamParameter adam_step(float value, float first_moment, float second_moment,
                                             float gradient, float rate, M::AdamRule rule) {
  rule.rate = rate;
  M::AdamParameter p;
  p.value = value;
  p.first_moment = first_moment;
  p.second_moment = second_moment;
  return M::adam(p, gradient, rule);
}

// The same in memory, one float at a time.
__device__ inline void adam_in_place(const AdamArrays& arrays, std::size_t at, float gradient, float rate,
                                     const M::AdamRule& rule) {
  const M::AdamParameter p =
      adam_step(arrays.value[at], arrays.first_moment[at], arrays.second_moment[at], gradient, rate, rule);
  arrays.value[at] = p.value;
  arrays.first_moment[at] = p.first_moment;
  arrays.second_moment[at] = p.second_moment;
}

}  // namespace stipple::cuda
