// SPDX-License-Identifier: Apache-2.0
// project: from every Gaussian to its splat on the screen, or to opacity 0; one thread per Gaussian. The
// coefficients of Gaussians that are culled early are not read.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/gaussian.cuh"
#include "stipple/backend/cuda/shared/tiles.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 128;

struct ProjectOutput {
  ProjectedSplat* splat;
  std::uint32_t *tile_count, *depth_key;
  ViewStatus* status;
};

template <int kDegree>
__device__ Vec3f shade(const GaussianPointers& g, unsigned i, Vec3f mean, const M::Pinhole& camera,
                       bool is_drawn, CoefficientRows<kDegree>* rows) {
  if (g.color) return is_drawn ? g.color[i] : Vec3f(0, 0, 0);
  CoefficientRows<kDegree>& mine = rows[threadIdx.x / kWarp];
  const std::size_t first = i - lane_index();
  mine.load(g.coefficients() + first * mine.kFloats, __ballot_sync(kAllLanes, is_drawn));
  if (!is_drawn) return {0, 0, 0};
  const M::HarmonicBasis basis = M::harmonic_basis(kDegree, M::view_ray(mean, camera).direction);
  const auto row = mine.own();
  Vec3f sum(0, 0, 0);
#pragma unroll
  for (int k = 0; k < mine.kCount; ++k) sum = sum + row[k] * basis.b[k];
  return M::color_from_harmonics(sum);
}

__device__ void store(const Splat& s, const M::Footprint& f, float log2_opacity, ProjectedSplat* to) {
  auto* out = reinterpret_cast<float4*>(to);
  out[0] = make_float4(s.mean_px.x, s.mean_px.y, s.conic.x, s.conic.y);
  out[1] = make_float4(s.conic.z, s.opacity, s.channels.x, s.channels.y);
  out[2] = make_float4(s.channels.z, s.channels.w, f.depth, f.half_extent_px.x);
  out[3] = make_float4(f.half_extent_px.y, log2_opacity, 0, 0);
}

template <int kDegree, bool kAltered>
__global__ void __launch_bounds__(kThreads, 8)
    project_kernel(GaussianPointers g, M::Pinhole camera, M::RenderSettings settings, int columns,
                   TileRows band, ProjectOutput out) {
  __shared__ CoefficientRows<kDegree> coefficients[kThreads / kWarp];
  __shared__ unsigned block_pairs, block_gaussians;
  if (threadIdx.x == 0) block_pairs = block_gaussians = 0;
  __syncthreads();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  M::Footprint f;
  f.opacity = 0;
  Vec3f mean(0, 0, 0);
  if (i < g.count) {
    const M::ActiveGaussian in = load_gaussian<kAltered>(g, i, settings.scale_modifier);
    mean = in.placed.mean;
    f = M::footprint(in.placed, in.opacity, camera, settings);
  }
  TileSearch search;
  float log2_opacity = 0;
  search.rows.begin = search.rows.end = 0;
  if (f.opacity > 0) {
    log2_opacity = M::log2_of(f.opacity);
    search = TileSearch(f, log2_opacity, band);
  }
  unsigned tiles = count_tiles(search, columns);
  const Vec3f color = shade<kDegree>(g, i, mean, camera, f.opacity > 0, coefficients);
  if (!M::is_drawable_color(color)) f.opacity = 0;
  if (f.opacity == 0) tiles = 0;

  const unsigned warp_pairs = sum_over_warp(tiles);
  const unsigned warp_gaussians = __popc(__ballot_sync(kAllLanes, tiles > 0));
  if (lane_index() == 0 && warp_pairs > 0) {
    atomicAdd(&block_pairs, warp_pairs);
    atomicAdd(&block_gaussians, warp_gaussians);
  }
  if (i < g.count) {
    out.tile_count[i] = tiles;
    out.depth_key[i] = tiles > 0 ? __float_as_uint(f.depth) : 0xffffffffu;
    if (f.opacity > 0)
      store(M::splat_of(f, color, settings), f, log2_opacity, out.splat + i);
    else
      out.splat[i].splat.opacity = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0 && block_pairs > 0) {
    atomicAdd(&out.status->pair_count, static_cast<unsigned long long>(block_pairs));
    atomicAdd(&out.status->gaussian_count, block_gaussians);
  }
}

}  // namespace

void CudaBackend::project(const DeviceGaussians& gaussians, const Precomputed& precomputed, const View& view,
                          Pass& pass) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  begin_view(mine, view);
  const std::size_t count = gaussians.size();
  pass.projection.splat.resize(*this, count);
  mine.tile_count.resize(*this, count);
  mine.depth_key.resize(*this, count);
  if (count == 0) return;
  const ProjectOutput out{pointer(pass.projection.splat), pointer(mine.tile_count), pointer(mine.depth_key),
                          mine.view_status()};
  const GaussianPointers g = pointers(gaussians, precomputed, view);
  with_form(g, [&](auto degree, auto is_altered) {
    project_kernel<degree(), is_altered()><<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
        g, pinhole(view.camera), render_settings(view.options), tile_columns_of(view.camera),
        tile_rows_of(view), out);
  });
  check(cudaGetLastError(), "launch project");
  mine.events.record(Stage::kProject, stream());
}

}  // namespace stipple::cuda
