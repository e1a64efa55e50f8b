// SPDX-License-Identifier: Apache-2.0
// project_backward: the splats' gradients to the stored parameters, and to the camera when asked for; a
// vector of Gaussians at a time.
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/project_backward.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/gaussian-inl.h"

#ifndef STIPPLE_PROJECT_BACKWARD_ONCE
#define STIPPLE_PROJECT_BACKWARD_ONCE
namespace stipple {

struct GroupGradient {  // where a group's results go; null where there is none
  float *mean, *log_scale, *rotation, *logit_opacity, *sh, *color, *covariance;
};

constexpr int kCameraFields = 16;  // rotation, translation, focal lengths, principal point

}  // namespace stipple
#endif

HWY_BEFORE_NAMESPACE();
namespace stipple {
namespace HWY_NAMESPACE {

struct LoadedGradients {
  ML::Splat dL_dsplat;
  Vec3<Lanes> color;
  Lanes depth;
  LaneMask is_drawn;
};

HWY_INLINE LoadedGradients load_gradients(const ProjectedSplat* splats, const Splat* dL_dsplat) {
  alignas(64) float row[15][kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const float* g = reinterpret_cast<const float*>(&dL_dsplat[lane]);
    for (int i = 0; i < 10; ++i) row[i][lane] = g[i];
    const ProjectedSplat& p = splats[lane];
    row[10][lane] = p.splat.channels.x;
    row[11][lane] = p.splat.channels.y;
    row[12][lane] = p.splat.channels.z;
    row[13][lane] = p.depth;
    row[14][lane] = p.splat.opacity;
  }
  LoadedGradients r;
  r.dL_dsplat = {{load(row[0]), load(row[1])},
                 {load(row[2]), load(row[3]), load(row[4])},
                 load(row[5]),
                 {load(row[6]), load(row[7]), load(row[8]), load(row[9])}};
  r.color = {load(row[10]), load(row[11]), load(row[12])};
  r.depth = load(row[13]);
  r.is_drawn = load(row[14]) > Lanes(0);
  return r;
}

// One Gaussian's coefficients: their gradient, and that of the basis they are weighed with.
HWY_INLINE void coefficients_backward(Vec3f dL_dsum, const float* basis, const float* sh, std::size_t n,
                                      float* dL_dsh, float* dL_dbasis) {
  if (n % kLanes == 0) {  // as many coefficients as lanes, or a multiple: a vector of them at a time
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

// Colour to coefficients; returns the gradient of the offset from the camera's centre.
Vec3<Lanes> color_backward(const GaussianGroup& g, int first, const ML::Pinhole& camera,
                           const Vec3<Lanes>& mean, const Vec3<Lanes>& color, const Vec3<Lanes>& dL_dcolor,
                           LaneMask is_drawn, const GroupGradient& out) {
  const Lanes zero(0);
  const Vec3<Lanes> none(zero, zero, zero);
  const std::size_t n = g.sh_count;
  if (g.color) {
    store3(select(is_drawn, dL_dcolor, none), out.color + 3 * first);
    std::fill_n(out.sh + 3 * n * first, 3 * n * kLanes, 0.0f);
    return none;
  }
  const Vec3<Lanes> offset = ML::view_offset(mean, camera);
  // A Gaussian that is not drawn may be anything, but its gradient must be 0.
  const Vec3<Lanes> direction =
      select(is_drawn, ML::view_direction(offset), Vec3<Lanes>(zero, zero, Lanes(1)));
  BasisTable basis;
  store_basis(ML::harmonic_basis(g.sh_degree, direction), static_cast<int>(n), basis);
  // The sum before the clamp is not kept, but where it was clamped the colour is 0.
  const Lanes half(0.5f);
  const Vec3<Lanes> dL_dsum =
      select(is_drawn,
             ML::color_from_harmonics_vjp({color.x - half, color.y - half, color.z - half}, dL_dcolor), none);
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
  alignas(64) float column[kLanes];
  for (std::size_t k = 0; k < 16; ++k) {
    for (int lane = 0; lane < kLanes; ++lane) column[lane] = k < n ? dL_dbasis.b[lane][k] : 0.0f;
    dL_dlanes.b[k] = load(column);
  }
  return ML::view_direction_vjp(offset, ML::harmonic_basis_vjp(g.sh_degree, direction, dL_dlanes));
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

void project_backward_block(const GaussianGroup& g, const stipple::Math<float>::Pinhole& view_camera,
                            const stipple::Math<float>::RenderSettings& view_settings,
                            const ProjectedSplat* splats, const Splat* dL_dsplat, const GroupGradient& out,
                            double* dL_dcamera) {
  const ML::Pinhole camera = broadcast_camera(view_camera);
  const ML::RenderSettings settings = broadcast_settings(view_settings);
  const Lanes zero(0);
  const Vec3<Lanes> none(zero, zero, zero);
  const Vec4<Lanes> none4(zero, zero, zero, zero);
  for (int first = 0; first < kMaxGroup; first += kLanes) {
    const LoadedGradients d = load_gradients(splats + first, dL_dsplat + first);
    const LoadedGaussians in = load_gaussians(g, first, settings.scale_modifier);
    const Vec4<Lanes> c = d.dL_dsplat.channels;
    const ML::Footprint dL_dfootprint{d.dL_dsplat.mean_px,
                                      d.dL_dsplat.conic,
                                      d.dL_dsplat.opacity,
                                      ML::depth_channel_vjp(d.depth, settings.inverse_depth, c.w),
                                      {zero, zero}};
    const ML::FootprintVjp f = ML::footprint_vjp(in.placed, in.opacity, camera, settings, dL_dfootprint);
    const ML::Placed dL_dplaced = ML::project_vjp(in.placed, camera, f.dL_dprojected);
    const Vec3<Lanes> dL_doffset =
        color_backward(g, first, camera, in.placed.mean, d.color, {c.x, c.y, c.z}, d.is_drawn, out);

    store3(select(d.is_drawn, dL_dplaced.mean + dL_doffset, none), out.mean + 3 * first);
    store(select(d.is_drawn, ML::sigmoid_vjp(in.opacity, f.dL_dopacity), zero), out.logit_opacity + first);
    if (g.covariance) {
      store_covariance(ML::unpack_covariance_vjp(dL_dplaced.covariance), d.is_drawn,
                       out.covariance + 6 * first);
      store3(none, out.log_scale + 3 * first);
      store4(none4, out.rotation + 4 * first);
    } else {
      const ML::Shape dL_dshape = ML::covariance_vjp(in.shape, dL_dplaced.covariance);
      store3(select(d.is_drawn, ML::scale_from_log_vjp(in.shape.scale, dL_dshape.scale), none),
             out.log_scale + 3 * first);
      store4(select(d.is_drawn, dL_dshape.rotation, none4), out.rotation + 4 * first);
    }
    if (dL_dcamera) {
      add_camera(ML::project_camera_vjp(in.placed, camera, f.dL_dprojected), d.is_drawn, dL_dcamera);
      add_camera(ML::view_offset_camera_vjp(camera, dL_doffset), d.is_drawn, dL_dcamera);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple {

HWY_EXPORT(project_backward_block);

namespace {

// Blocks per sum of the camera's gradient: fixed, so that the result does not depend on the threads.
constexpr std::size_t kChunkBlocks = 64;

struct PaddedBlock {  // a last block that is not full works here
  GaussianGroups::Padded inputs;
  ProjectedSplat splats[kMaxGroup];
  Splat dL_dsplat[kMaxGroup];
  GaussianGroups::Padded outputs;
};

// All outputs of the scene as floats, with how many of them a Gaussian has.
struct OutputArray {
  float* all;
  std::size_t per_gaussian;
  float* GroupGradient::*field;
  float* pad;
};

CameraGradient camera_gradient(const double* sum) {
  auto f = [&](int i) { return static_cast<float>(sum[i]); };
  CameraGradient g;
  g.camera_from_world.rotation = {f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8)};
  g.camera_from_world.translation = {f(9), f(10), f(11)};
  g.focal_px = {f(12), f(13)};
  g.center_px = {f(14), f(15)};
  return g;
}

template <class T>
float* floats(DeviceArray<T>& array) {
  return array.empty() ? nullptr : reinterpret_cast<float*>(host(array).data());
}

}  // namespace

void CpuBackend::project_backward(const DeviceGaussians& gaussians, const Precomputed& precomputed,
                                  const View& view, const Projection& projection,
                                  const SplatGradient& dL_dsplat, DeviceGaussians& dL_dgaussians,
                                  Precomputed& dL_dprecomputed, CameraGradient* dL_dcamera) {
  GaussianGroups groups(gaussians, precomputed);
  Math<float>::Pinhole camera = pinhole(view.camera);
  Math<float>::RenderSettings settings = render_settings(view.options);
  dL_dgaussians.sh_degree = gaussians.sh_degree;
  for_each_parameter([&](int, auto& to, const auto& like) { to.resize(*this, like.size()); }, dL_dgaussians,
                     gaussians);
  dL_dprecomputed.color.resize(*this, precomputed.color.size());
  dL_dprecomputed.covariance.resize(*this, precomputed.covariance.size());

  PaddedBlock padded;
  const OutputArray outputs[] = {
      {floats(dL_dgaussians.mean), 3, &GroupGradient::mean, padded.outputs.mean},
      {floats(dL_dgaussians.log_scale), 3, &GroupGradient::log_scale, padded.outputs.log_scale},
      {floats(dL_dgaussians.rotation), 4, &GroupGradient::rotation, padded.outputs.rotation},
      {floats(dL_dgaussians.logit_opacity), 1, &GroupGradient::logit_opacity, padded.outputs.logit_opacity},
      {floats(dL_dgaussians.sh), 3 * groups.sh_count(), &GroupGradient::sh, padded.outputs.sh},
      {floats(dL_dprecomputed.color), 3, &GroupGradient::color, padded.outputs.color},
      {floats(dL_dprecomputed.covariance), 6, &GroupGradient::covariance, padded.outputs.covariance}};
  auto splats = host(projection.splat);
  auto gradients = host(dL_dsplat.splat);
  auto backward_one = HWY_DYNAMIC_DISPATCH(project_backward_block);

  auto run_block = [&](std::size_t block, double* camera_sum) {
    std::size_t first = block * kMaxGroup, left = groups.size() - first;
    bool is_whole = left >= kMaxGroup;
    GroupGradient to;
    for (const OutputArray& o : outputs)
      to.*o.field = !o.all ? nullptr : is_whole ? o.all + first * o.per_gaussian : o.pad;
    if (is_whole)
      return backward_one(groups.block(first, padded.inputs), camera, settings, &splats[first],
                          &gradients[first], to, camera_sum);
    std::copy_n(&splats[first], left, padded.splats);
    std::copy_n(&gradients[first], left, padded.dL_dsplat);
    for (std::size_t i = left; i < kMaxGroup; ++i) {
      padded.splats[i] = {};  // opacity 0: culled
      padded.dL_dsplat[i] = {};
    }
    backward_one(groups.block(first, padded.inputs), camera, settings, padded.splats, padded.dL_dsplat, to,
                 camera_sum);
    for (const OutputArray& o : outputs)
      if (o.all) std::copy_n(o.pad, left * o.per_gaussian, o.all + first * o.per_gaussian);
  };

  std::size_t block_count = (groups.size() + kMaxGroup - 1) / kMaxGroup;
  std::size_t chunk_count = (block_count + kChunkBlocks - 1) / kChunkBlocks;
  std::vector<double> sums(dL_dcamera ? chunk_count * kCameraFields : 0, 0.0);
  parallel_for(chunk_count, [&](std::size_t chunk) {
    double* sum = dL_dcamera ? &sums[chunk * kCameraFields] : nullptr;
    std::size_t end = std::min(block_count, (chunk + 1) * kChunkBlocks);
    for (std::size_t block = chunk * kChunkBlocks; block < end; ++block) run_block(block, sum);
  });
  if (!dL_dcamera) return;
  double total[kCameraFields] = {};
  for (std::size_t i = 0; i < sums.size(); ++i) total[i % kCameraFields] += sums[i];
  *dL_dcamera = camera_gradient(total);
}

}  // namespace stipple
#endif
