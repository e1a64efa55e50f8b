// SPDX-License-Identifier: Apache-2.0
// Loading of one group of Gaussians, for project and project_backward; compiled once per vector width.
#if defined(STIPPLE_GAUSSIAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STIPPLE_GAUSSIAN_INL_H_
#undef STIPPLE_GAUSSIAN_INL_H_
#else
#define STIPPLE_GAUSSIAN_INL_H_
#endif

#include "stipple/backend/cpu/shared/gaussian_group.h"
#include "stipple/backend/cpu/shared/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

using ML = Math<Lanes>;

// The kernels are compiled twice, because even an alteration that is off would cost them registers: kAltered
// says whether g.is_altered().
template <bool kAltered>
HWY_INLINE ML::GaussianForm form_of(const GaussianGroup& g) {
  return {g.covariance != nullptr, g.is_activated, kAltered};
}

// Lanes [first, first + kLanes) of a group.
HWY_INLINE ML::StoredGaussian load_gaussians(const GaussianGroup& g, int first) {
  ML::StoredGaussian r;
  r.mean = load3(g.mean + 3 * first);
  r.logit_opacity = load(g.logit_opacity + first);
  if (g.covariance) {
    alignas(64) float column[6][kLanes];
    for (int lane = 0; lane < kLanes; ++lane)
      for (int k = 0; k < 6; ++k) column[k][lane] = g.covariance[6 * (first + lane) + k];
    r.covariance = {load(column[0]), load(column[1]), load(column[2]),
                    load(column[3]), load(column[4]), load(column[5])};
  } else {
    r.log_scale = load3(g.log_scale + 3 * first);
    r.rotation = load4(g.rotation + 4 * first);
  }
  return r;
}

HWY_INLINE ML::Alteration load_alterations(const GaussianGroup& g, int first) {
  ML::Alteration a;
  a.filter_variance = g.filter_variance ? load(g.filter_variance + first) : Lanes(0);
  a.opacity_factor = Lanes(1);
  if (g.dropout.threshold == 0) return a;
  alignas(64) float factor[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    factor[lane] =
        stipple::Math<float>::dropout_factor(g.index + static_cast<std::uint32_t>(first + lane), g.dropout);
  a.opacity_factor = load(factor);
  return a;
}

template <bool kAltered>
HWY_INLINE ML::ActiveGaussian activate_gaussians(const GaussianGroup& g, int first, Lanes scale_modifier) {
  ML::Alteration alteration{Lanes(0), Lanes(1)};
  if constexpr (kAltered) alteration = load_alterations(g, first);
  return ML::activate(load_gaussians(g, first), alteration, form_of<kAltered>(g), scale_modifier);
}

struct alignas(64) BasisTable {
  float b[kMaxGroup][16];  // [lane][k]
};

// Transposes the SH basis, so that the values of each lane are contiguous.
HWY_INLINE void store_basis(const ML::HarmonicBasis& basis, int count, BasisTable& table) {
  Lanes columns[16];
  for (int k = 0; k < 16; ++k) columns[k] = k < count ? basis.b[k] : Lanes(0);
  store_transposed(columns, table.b[0]);
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#endif
