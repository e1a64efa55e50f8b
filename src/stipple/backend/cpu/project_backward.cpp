// SPDX-License-Identifier: Apache-2.0
// project_backward: propagates the splats' gradients to the stored parameters and, if wanted, to the camera;
// a vector of Gaussians at a time.
#include <cstring>
#include <optional>

#include "stipple/backend/cpu/shared/density_statistics.h"
#include "stipple/backend/cpu/shared/project_backward_range.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/project_backward.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/shared/gaussian-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

struct LoadedGradients {
  ML::Splat dL_dsplat;
  Vec3<Lanes> color;
  Lanes depth;
  LaneMask is_drawn;
};

HWY_INLINE LoadedGradients load_gradients(const ProjectedSplat* splats, const Splat* dL_dsplat) {
  alignas(64) float padded[kLanes][16];
  for (int lane = 0; lane < kLanes; ++lane) std::memcpy(padded[lane], &dL_dsplat[lane], sizeof(Splat));
  Lanes d[16], p[16];
  load_transposed(padded[0], d);
  load_transposed(reinterpret_cast<const float*>(splats), p);
  LoadedGradients r;
  r.dL_dsplat = {{d[0], d[1]}, {d[2], d[3], d[4]}, d[5], {d[6], d[7], d[8], d[9]}};
  r.color = {p[6], p[7], p[8]};
  r.depth = p[10];
  r.is_drawn = p[5] > Lanes(0);
  return r;
}

// Computes the gradients of one Gaussian's SH coefficients and of the basis that weights them.
HWY_INLINE void coefficients_backward(Vec3f dL_dsum, const float* basis, const float* sh, std::size_t n,
                                      float* dL_dsh, float* dL_dbasis) {
  if (n % kLanes == 0) {  // the coefficients fill whole vectors
    const Lanes r(dL_dsum.x), g(dL_dsum.y), b(dL_dsum.z);
    for (std::size_t k = 0; k < n; k += kLanes) {
      const Vec3<Lanes> c = load3(sh + 3 * k);
      const Lanes weight = load(basis + k);
      store(c.x * r + c.y * g + c.z * b, dL_dbasis + k);
      store3({weight * r, weight * g, weight * b}, dL_dsh + 3 * k);
    }
    return;
  }
  for (std::size_t k = 0; k < n; ++k) {
    dL_dsh[3 * k] = dL_dsum.x * basis[k];
    dL_dsh[3 * k + 1] = dL_dsum.y * basis[k];
    dL_dsh[3 * k + 2] = dL_dsum.z * basis[k];
    dL_dbasis[k] = sh[3 * k] * dL_dsum.x + sh[3 * k + 1] * dL_dsum.y + sh[3 * k + 2] * dL_dsum.z;
  }
}

// Propagates the colour's gradient to the SH coefficients; returns that of the mean's offset from the camera.
Vec3<Lanes> color_backward(const GaussianGroup& g, int first, const ML::Pinhole& camera,
                           const Vec3<Lanes>& mean, const Vec3<Lanes>& color, const Vec3<Lanes>& dL_dcolor,
                           LaneMask is_drawn, bool lifts_clamped, const ParameterGradient& out) {
  const Lanes zero(0);
  const Vec3<Lanes> none(zero, zero, zero);
  const std::size_t n = g.sh_count;
  if (g.color) {
    store3(select(is_drawn, dL_dcolor, none), out.color + 3 * first);
    std::fill_n(out.sh + 3 * n * first, 3 * n * kLanes, 0.0f);
    return none;
  }
  // A culled Gaussian may have any mean, but its gradient must be 0.
  const ML::ViewRay ray = ML::view_ray(select(is_drawn, mean, none), camera);
  BasisTable basis;
  store_basis(ML::harmonic_basis(g.sh_degree, ray.direction), static_cast<int>(n), basis);
  const Vec3<Lanes> dL_dsum =
      select(is_drawn, ML::color_from_harmonics_vjp(color, dL_dcolor, lifts_clamped), none);
  alignas(64) float channel[3][kLanes];
  store(dL_dsum.x, channel[0]);
  store(dL_dsum.y, channel[1]);
  store(dL_dsum.z, channel[2]);
  BasisTable dL_dbasis;
  for (int lane = 0; lane < kLanes; ++lane)
    coefficients_backward({channel[0][lane], channel[1][lane], channel[2][lane]}, basis.b[lane],
                          g.sh + 3 * n * (first + lane), n, out.sh + 3 * n * (first + lane),
                          dL_dbasis.b[lane]);
  ML::HarmonicBasis dL_dlanes;
  load_transposed(dL_dbasis.b[0], dL_dlanes.b);
  for (std::size_t k = n; k < 16; ++k) dL_dlanes.b[k] = zero;
  return ML::view_ray_vjp(g.sh_degree, ray, dL_dlanes);
}

HWY_INLINE void store_covariance(const ML::PackedCovariance& c, LaneMask is_drawn, float* to) {
  const Lanes fields[6] = {c.xx, c.xy, c.xz, c.yy, c.yz, c.zz};
  alignas(64) float column[kLanes];
  for (int k = 0; k < 6; ++k) {
    store(select(is_drawn, fields[k], Lanes(0)), column);
    for (int lane = 0; lane < kLanes; ++lane) to[6 * lane + k] = column[lane];
  }
}

HWY_INLINE void add_camera(const ML::Pinhole& d, LaneMask is_drawn, double* sum) {
  const Lanes fields[kCameraFields] = {d.rotation[0].x, d.rotation[0].y, d.rotation[0].z, d.rotation[1].x,
                                       d.rotation[1].y, d.rotation[1].z, d.rotation[2].x, d.rotation[2].y,
                                       d.rotation[2].z, d.translation.x, d.translation.y, d.translation.z,
                                       d.focal_px.x,    d.focal_px.y,    d.center_px.x,   d.center_px.y};
  for (int i = 0; i < kCameraFields; ++i)
    sum[i] += static_cast<double>(hn::GetLane(hn::SumOfLanes(D(), select(is_drawn, fields[i], Lanes(0)).v)));
}

void store_zeros(int first, const ParameterGradient& out) {
  for_each_gradient(
      [&](std::size_t floats, float* field) {
        if (field) std::fill_n(field + static_cast<std::size_t>(first) * floats, kLanes * floats, 0.0f);
      },
      out);
}

template <bool kAltered>
void project_backward_block_as(const GaussianGroup& g, const stipple::Math<float>::Pinhole& view_camera,
                               const stipple::Math<float>::RenderSettings& view_settings,
                               const ProjectedSplat* splats, const Splat* dL_dsplat, bool lifts_clamped,
                               const ParameterGradient& out, double* dL_dcamera) {
  const ML::Pinhole camera = broadcast_camera(view_camera);
  const ML::RenderSettings settings = broadcast_settings(view_settings);
  const Lanes zero(0);
  const Vec3<Lanes> none(zero, zero, zero);
  const Vec4<Lanes> none4(zero, zero, zero, zero);
  for (int first = 0; first < kMaxGroup; first += kLanes) {
    const LoadedGradients d = load_gradients(splats + first, dL_dsplat + first);
    if (hn::AllFalse(D(), d.is_drawn.m)) {  // common: a view rarely shows the whole scene
      store_zeros(first, out);
      continue;
    }
    const ML::ActiveGaussian in = activate_gaussians<kAltered>(g, first, settings.scale_modifier);
    const ML::GaussianVjp vjp =
        ML::gaussian_vjp(in, form_of<kAltered>(g), camera, settings, d.depth, d.dL_dsplat);
    const ML::StoredGaussian& dL = vjp.dL_dstored;
    store3(select(d.is_drawn, dL.log_scale, none), out.log_scale + 3 * first);
    store4(select(d.is_drawn, dL.rotation, none4), out.rotation + 4 * first);
    store(select(d.is_drawn, dL.logit_opacity, zero), out.logit_opacity + first);
    if (g.covariance) store_covariance(dL.covariance, d.is_drawn, out.covariance + 6 * first);
    const Vec4<Lanes> c = d.dL_dsplat.channels;
    const Vec3<Lanes> dL_doffset = color_backward(g, first, camera, in.placed.mean, d.color, {c.x, c.y, c.z},
                                                  d.is_drawn, lifts_clamped, out);
    store3(select(d.is_drawn, dL.mean + dL_doffset, none), out.mean + 3 * first);
    if (dL_dcamera)
      add_camera(ML::gaussian_camera_vjp(in.placed, camera, vjp.dL_dprojected, dL_doffset), d.is_drawn,
                 dL_dcamera);
  }
}

void project_backward_block(const GaussianGroup& g, const stipple::Math<float>::Pinhole& camera,
                            const stipple::Math<float>::RenderSettings& settings,
                            const ProjectedSplat* splats, const Splat* dL_dsplat, bool lifts_clamped,
                            const ParameterGradient& out, double* dL_dcamera) {
  const auto run = g.is_altered() ? project_backward_block_as<true> : project_backward_block_as<false>;
  run(g, camera, settings, splats, dL_dsplat, lifts_clamped, out, dL_dcamera);
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple::cpu {

HWY_EXPORT(project_backward_block);

namespace {

// Camera gradients are summed by chunks of this many Gaussians, so that the order is the same for any number
// of threads.
constexpr std::size_t kChunk = 64 * kMaxGroup;

template <class T>
float* floats(DeviceArray<T>& array) {
  return array.empty() ? nullptr : reinterpret_cast<float*>(host(array).data());
}

ParameterGradient pointers_to(GaussianGroups::Padded& g, int sh_degree) {
  ParameterGradient p{{g.mean, g.log_scale, g.rotation, g.logit_opacity, g.sh}, g.color, g.covariance};
  p.sh_degree = sh_degree;
  return p;
}

}  // namespace

ParameterGradient ParameterGradient::from(std::size_t gaussian) const {
  ParameterGradient later = *this;
  for_each_gradient(
      [gaussian](std::size_t floats, float*& field) {
        if (field) field += gaussian * floats;
      },
      later);
  return later;
}

ProjectBackwardRange::ProjectBackwardRange(const DeviceGaussians& gaussians, const Precomputed& precomputed,
                                           const View& view, const WantedGradients& wanted, const Pass& pass)
    : groups_(gaussians, precomputed, view),
      camera_(pinhole(view.camera)),
      settings_(render_settings(view.options)),
      visible_(host(pass.projection.visible)),
      splats_(host(pass.projection.splat)),
      dL_dsplat_(host(pass.dL_dsplat.splat)),
      lifts_clamped_(wanted.lifts_clamped_colors) {}

DensityStatistics::DensityStatistics(const View& view, const Pass& pass)
    : half_size_(half_size_of(view.camera)),
      visible_(host(pass.projection.visible)),
      splats_(host(pass.projection.splat)),
      dL_dsplat_(host(pass.dL_dsplat.splat)),
      absolute_(host(pass.dL_dsplat.absolute_mean_px)) {}

Vec2f DensityStatistics::of(std::size_t i) const {
  if (!is_seen(i)) return {0, 0};
  const std::size_t row = block_of(i).row(place_of(i));
  return Math<float>::density_statistic(absolute_.empty() ? dL_dsplat_[row].mean_px : absolute_[row],
                                        half_size_);
}

void ProjectBackwardRange::run(std::size_t begin, std::size_t end, const ParameterGradient& out,
                               double* camera_sum) const {
  GroupGradients spread;
  std::size_t at = begin;
  for (; at + kMaxGroup <= end; at += kMaxGroup) run_group(at, spread, out.from(at - begin), camera_sum);
  if (at < end) run_last(at, end - at, spread, out.from(at - begin), camera_sum);
}

// The rows of a group that is shown as a whole are used where they are; others are spread over the places of
// their Gaussians. What `spread` holds of Gaussians that are not shown does not matter, except the opacity.
void ProjectBackwardRange::run_group(std::size_t begin, GroupGradients& spread, const ParameterGradient& out,
                                     double* camera_sum) const {
  constexpr std::uint32_t kWhole = (1u << kMaxGroup) - 1;
  const VisibleBlock& block = visible_[begin / VisibleBlock::kGaussians];
  const std::size_t place = begin % VisibleBlock::kGaussians;
  const std::uint32_t mask = block.mask >> place & kWhole;
  std::size_t row = block.row(place);
  const ProjectedSplat* splats = spread.splat;
  const Splat* dL_dsplat = spread.dL_dsplat;
  if (mask == kWhole) {
    splats = &splats_[row];
    dL_dsplat = &dL_dsplat_[row];
  } else {
    for (std::size_t i = 0; i < kMaxGroup; ++i) {
      if ((mask >> i & 1) == 0) {
        spread.splat[i].splat.opacity = 0;
        continue;
      }
      spread.splat[i] = splats_[row];
      spread.dL_dsplat[i] = dL_dsplat_[row++];
    }
  }
  GaussianGroups::Padded padded;
  HWY_DYNAMIC_DISPATCH(project_backward_block)
  (groups_.block(begin, padded), camera_, settings_, splats, dL_dsplat, lifts_clamped_, out, camera_sum);
}

// Processes a partial last group, with gradients in a padded copy.
void ProjectBackwardRange::run_last(std::size_t begin, std::size_t count, GroupGradients& spread,
                                    const ParameterGradient& out, double* camera_sum) const {
  GaussianGroups::Padded outputs;
  const ParameterGradient padded = pointers_to(outputs, groups_.sh_degree());
  run_group(begin, spread, padded, camera_sum);
  for_each_gradient(
      [count](std::size_t floats, const float* from, float* to) {
        if (to) std::copy_n(from, count * floats, to);
      },
      padded, out);
}

namespace {

// The gradients of one chunk, to be added to a sum with the same fields.
class ChunkSum {
 public:
  explicit ChunkSum(const ParameterGradient& sum) : gradient_(sum) {
    for_each_gradient(
        [&](std::size_t floats, float*& field) {
          if (field) field = values_.emplace_back(floats * kChunk).data();
        },
        gradient_);
  }

  const ParameterGradient& gradient() const { return gradient_; }

  void add_to(const ParameterGradient& sum, std::size_t count) const {
    for_each_gradient(
        [count](std::size_t floats, const float* from, float* to) {
          for (std::size_t i = 0; to && i < count * floats; ++i) to[i] += from[i];
        },
        gradient_, sum);
  }

 private:
  std::vector<std::vector<float>> values_;
  ParameterGradient gradient_;
};

}  // namespace

void CpuBackend::project_backward(const DeviceGaussians& gaussians, const Precomputed& precomputed,
                                  const View& view, const WantedGradients& wanted, Pass& pass,
                                  GradientSum& sum) {
  CpuPass& own = cpu_pass(pass);
  const std::size_t count = gaussians.size(), chunk_count = (count + kChunk - 1) / kChunk;
  resize_sum(*this, gaussians, precomputed, wanted, sum);
  ParameterGradient out;
  out.sh_degree = gaussians.sh_degree;
  for_each_parameter([](int, float*& to, auto& from) { to = floats(from); }, out, sum.gaussians);
  out.color = floats(sum.precomputed.color);
  out.covariance = floats(sum.precomputed.covariance);
  const ProjectBackwardRange backward(gaussians, precomputed, view, wanted, pass);
  const DensityStatistics density(view, pass);
  auto view_statistics = host(sum.view_statistics);
  std::vector<double> camera_sums(wanted.camera ? chunk_count * kCameraFields : 0, 0.0);
  const std::size_t grain = sum.is_empty ? 1 : 4;  // when adding, every range allocates a ChunkSum
  parallel_ranges(chunk_count, grain, [&](std::size_t first, std::size_t last) {
    std::optional<ChunkSum> piece;
    if (!sum.is_empty) piece.emplace(out);
    for (std::size_t chunk = first; chunk < last; ++chunk) {
      const std::size_t begin = chunk * kChunk, end = std::min(count, begin + kChunk);
      const ParameterGradient here = out.from(begin);
      backward.run(begin, end, piece ? piece->gradient() : here,
                   wanted.camera ? &camera_sums[chunk * kCameraFields] : nullptr);
      if (piece) piece->add_to(here, end - begin);
      if (!view_statistics.empty())
        for (std::size_t i = begin; i < end; ++i)
          view_statistics[i] = sum.is_empty ? density.of(i) : view_statistics[i] + density.of(i);
    }
  });
  sum.is_empty = false;
  if (wanted.camera) {
    double total[kCameraFields] = {};
    for (std::size_t i = 0; i < camera_sums.size(); ++i) total[i % kCameraFields] += camera_sums[i];
    own.view().camera = camera_gradient(total);
  }
  own.clock.lap(Stage::kOptimize);
}

}  // namespace stipple::cpu
#endif
