// SPDX-License-Identifier: Apache-2.0
#pragma once
// The update of one parameter in memory, shared by optimize and project_backward_optimize; see the note on
// contraction in gaussian_backward.cuh.
#include "stipple/backend/adam_rule.h"
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/cuda_pass.h"
#include "stipple/backend/cuda/shared/kernel.cuh"
#include "stipple/backend/cuda/shared/visible_row.cuh"

namespace stipple::cuda {

// A parameter array whose moments all have 32 bits, as plain words. `key` is that of the first word
// (MomentKeys).
struct AdamArrays {
  float* value;
  std::uint32_t* moments;
  std::uint32_t key;
};

struct HarmonicArrays {  // the SH coefficients
  float* value;
  std::uint32_t* base;
  std::uint16_t* rest;
  std::uint32_t base_key, rest_key;
  ShownCopies shown;  // of the values
};

struct StepArrays {
  AdamArrays mean, log_scale, rotation, logit_opacity;
  HarmonicArrays sh;
};

template <class T>
float* float_pointer(DeviceArray<T>& array) {
  return reinterpret_cast<float*>(pointer(array));
}

inline StepArrays step_arrays(TrainState& state, const AdamOptions& options) {
  DeviceGaussians& g = state.gaussians;
  AdamMoments& m = state.moments;
  const MomentKeys key = moment_keys(options.step, state.part, g.sh_degree);
  return {{float_pointer(g.mean), pointer(m.mean), key.mean},
          {float_pointer(g.log_scale), pointer(m.log_scale), key.log_scale},
          {float_pointer(g.rotation), pointer(m.rotation), key.rotation},
          {float_pointer(g.logit_opacity), pointer(m.logit_opacity), key.logit_opacity},
          {float_pointer(g.sh), pointer(m.sh_base), pointer(m.sh_rest), key.sh_base, key.sh_rest, {}}};
}

struct AdamSettings {
  M::AdamRule rule;  // without a learning rate, which `of` has for each parameter
  ParameterRules of;
  bool visible_only, harmonics_of_visible_only;
};

inline AdamSettings adam_settings(const AdamOptions& o, const LossOptions& loss, std::size_t gaussian_count,
                                  int view_count) {
  return {adam_rule(o), parameter_rules(o, loss, gaussian_count, view_count), o.visible_only,
          o.harmonics_of_visible_only()};
}

// Whether no view of the pass has overflowed or met a value that is not finite, so that the update may run.
__device__ inline bool may_update(const ViewStatus* status, int view_count) {
  bool may = true;
  for (int v = 0; v < view_count; ++v) may = may && !status[v].is_bad && !status[v].has_overflowed;
  return may;
}

__device__ inline M::AdamParameter unpacked(float value, std::uint32_t moments) {
  return M::with_wide_moments(value, moments);
}
__device__ inline M::AdamParameter unpacked(float value, std::uint16_t moments) {
  return M::with_narrow_moments(value, moments);
}
__device__ inline void pack(const M::AdamParameter& p, std::uint32_t random, std::uint32_t& moments) {
  moments = M::wide_moments(p, random);
}
__device__ inline void pack(const M::AdamParameter& p, std::uint32_t random, std::uint16_t& moments) {
  moments = static_cast<std::uint16_t>(M::narrow_moments(p, random));
}

// Updates a value and its moments, which the random word rounds.
template <class Word>
__device__ inline void adam_step(float& value, Word& moments, float gradient, float rate, M::AdamRule rule,
                                 std::uint32_t random) {
  rule.rate = rate;
  const M::AdamParameter p = M::adam(unpacked(value, moments), gradient, rule);
  value = p.value;
  pack(p, random, moments);
}

}  // namespace stipple::cuda
