// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads Gaussians from memory, for project and its backward pass.
#include <type_traits>

#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/shared/kernel.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple::cuda {

struct GaussianPointers : GaussianArrays<ConstPointer> {
  const Vec3f* color;                  // null to compute it from sh
  const PackedCovariance* covariance;  // null to compute it from log_scale and rotation
  const float* filter_variance;        // null for no filter
  M::Dropout dropout;
  unsigned count;
  bool is_activated;  // as in Precomputed

  bool is_altered() const { return filter_variance || dropout.threshold > 0; }

  __host__ __device__ const float* coefficients() const { return reinterpret_cast<const float*>(sh); }
};

inline GaussianPointers pointers(const DeviceGaussians& g, const Precomputed& given, const View& view) {
  GaussianPointers p{};
  p.sh_degree = g.sh_degree;
  for_each_parameter([](int, auto& to, const auto& from) { to = pointer(from); }, p, g);
  p.color = pointer(given.color);
  p.covariance = pointer(given.covariance);
  p.filter_variance = pointer(given.filter_variance);
  p.dropout = dropout_of(view);
  p.count = static_cast<unsigned>(g.size());
  p.is_activated = given.is_activated;
  return p;
}

// Kernels are compiled twice, because alterations take registers that they cannot spare: kAltered says
// whether g.is_altered().
template <bool kAltered>
__device__ M::GaussianForm form_of(const GaussianPointers& g) {
  return {g.covariance != nullptr, g.is_activated, kAltered};
}

template <bool kAltered>
__device__ M::ActiveGaussian load_gaussian(const GaussianPointers& g, unsigned i, float scale_modifier) {
  M::StoredGaussian stored;
  stored.mean = g.mean[i];
  stored.logit_opacity = g.logit_opacity[i];
  if (g.covariance) {
    stored.covariance = g.covariance[i];
  } else {
    const float4 q = reinterpret_cast<const float4*>(g.rotation)[i];
    stored.log_scale = g.log_scale[i];
    stored.rotation = Vec4f(q.x, q.y, q.z, q.w);
  }
  M::Alteration alteration{0, 1};
  if constexpr (kAltered) {
    alteration.filter_variance = g.filter_variance ? g.filter_variance[i] : 0.0f;
    alteration.opacity_factor = M::dropout_factor(i, g.dropout);
  }
  return M::activate(stored, alteration, form_of<kAltered>(g), scale_modifier);
}

// The place of a row among those whose bits are set.
__device__ inline int dense_row(unsigned stored, int row) { return __popc(stored & ((1u << row) - 1)); }

// The SH coefficients of a warp's Gaussians in shared memory, one row per Gaussian. Rows are contiguous in
// global memory and are read by whole warps, four floats per lane. In shared memory they are padded, so that
// lanes that read their own rows do not conflict on banks.
template <int kDegree>
struct CoefficientRows {
  static constexpr int kCount = (kDegree + 1) * (kDegree + 1);
  static constexpr int kFloats = 3 * kCount;
  static constexpr int kStride = kFloats % 16 == 0 ? kFloats + 4 : kFloats;
  static constexpr bool kIsVector = kFloats % 4 == 0;
  // Rows are moved in parts, which are vectors if they can be.
  using Part = std::conditional_t<kIsVector, float4, float>;
  static constexpr int kParts = kIsVector ? kFloats / 4 : kFloats;
  __device__ static const Part* as_parts(const float* p) { return reinterpret_cast<const Part*>(p); }
  __device__ static Part* as_parts(float* p) { return reinterpret_cast<Part*>(p); }

  alignas(16) float value[kWarp * kStride];

  // Loads the rows of the Gaussians whose bits are set in `wanted`; `sh` points to the warp's first Gaussian.
  __device__ void load(const float* sh, unsigned wanted) {
    for_each_part(wanted, [&](Part& mine, int row, int place) { mine = as_parts(sh)[row * kParts + place]; });
  }
  // The same for rows that are stored without gaps, of the Gaussians whose bits are set in `stored`; `rows`
  // points to the first of them.
  __device__ void load_dense(const float* rows, unsigned stored, unsigned wanted) {
    for_each_part(wanted, [&](Part& mine, int row, int place) {
      mine = as_parts(rows)[dense_row(stored, row) * kParts + place];
    });
  }
  __device__ void store_dense(float* rows, unsigned stored, unsigned wanted) {
    for_each_part(wanted, [&](const Part& mine, int row, int place) {
      as_parts(rows)[dense_row(stored, row) * kParts + place] = mine;
    });
  }

  __device__ float at(int row, int place) const { return value[row * kStride + place]; }

  struct Row {
    float value[kFloats];
    __device__ Vec3f operator[](int k) const { return {value[3 * k], value[3 * k + 1], value[3 * k + 2]}; }
  };
  __device__ Row own() const {
    Row row;
    const float* from = value + lane_index() * kStride;
    if constexpr (kIsVector) {
#pragma unroll
      for (int k = 0; k < kFloats / 4; ++k) {
        const float4 v = reinterpret_cast<const float4*>(from)[k];
        row.value[4 * k] = v.x;
        row.value[4 * k + 1] = v.y;
        row.value[4 * k + 2] = v.z;
        row.value[4 * k + 3] = v.w;
      }
    } else {
#pragma unroll
      for (int k = 0; k < kFloats; ++k) row.value[k] = from[k];
    }
    return row;
  }

 private:
  // Calls f(a part of a row in shared memory, the row, the place in it), one part per lane at a time.
  template <class F>
  __device__ void for_each_part(unsigned wanted, F f) {
#pragma unroll
    for (int k = 0; k < kParts; ++k) {
      const int i = k * kWarp + lane_index(), row = i / kParts, place = i % kParts;
      if (wanted >> row & 1) f(as_parts(value + row * kStride)[place], row, place);
    }
    __syncwarp();
  }
};

// Calls f(std::integral_constant<int, degree>(), std::bool_constant<g.is_altered()>()).
template <class F>
void with_form(const GaussianPointers& g, F f) {
  const auto with_degree = [&](auto is_altered) {
    switch (g.sh_degree) {
      case 0:
        return f(std::integral_constant<int, 0>(), is_altered);
      case 1:
        return f(std::integral_constant<int, 1>(), is_altered);
      case 2:
        return f(std::integral_constant<int, 2>(), is_altered);
      default:
        return f(std::integral_constant<int, 3>(), is_altered);
    }
  };
  g.is_altered() ? with_degree(std::true_type()) : with_degree(std::false_type());
}

}  // namespace stipple::cuda
