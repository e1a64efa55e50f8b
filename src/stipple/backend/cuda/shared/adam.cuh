// SPDX-License-Identifier: Apache-2.0
#pragma once
// One parameter's update in memory, shared by optimize and project_backward_optimize; see the remark on
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

// All of a Gaussian's, by parameter.
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
  M::AdamRule rule;  // its rate is that of no parameter
  ParameterRules of;
  bool visible_only;
};

inline AdamSettings adam_settings(const AdamOptions& o, const LossOptions& loss, std::size_t gaussian_count,
                                  int view_count) {
  return {adam_rule(o), parameter_rules(o, loss, gaussian_count, view_count), o.visible_only};
}

// Whether all views of the pass went well, so that the update may change something.
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

// Where one float is read and written at a time.
__device__ inline void adam_in_place(const AdamArrays& arrays, std::size_t at, float gradient, float rate,
                                     const M::AdamRule& rule) {
  const M::AdamParameter p =
      adam_step(arrays.value[at], arrays.first_moment[at], arrays.second_moment[at], gradient, rate, rule);
  arrays.value[at] = p.value;
  arrays.first_moment[at] = p.first_moment;
  arrays.second_moment[at] = p.second_moment;
}

}  // namespace stipple::cuda
