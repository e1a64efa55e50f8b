// SPDX-License-Identifier: Apache-2.0
// project: finds the Gaussians that are shown, one thread per Gaussian, gives them rows by a prefix sum, and
// then writes their splats. The footprints are computed twice: that takes less memory traffic than to keep
// them. The coefficients of Gaussians that are not shown are not read.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstddef>
#include <cub/device/device_scan.cuh>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/find_visible.cuh"
#include "stipple/backend/cuda/shared/tiles.cuh"
#include "stipple/backend/cuda/shared/visible_row.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple::cuda {

namespace {

constexpr int kThreads = kFindThreads;

struct ShownIn {  // a block
  const VisibleBlock* visible;
  __device__ std::uint32_t operator()(std::uint32_t block) const { return __popc(visible[block].mask); }
};

struct WordOfBlock {
  __host__ __device__ std::uint32_t operator()(std::uint32_t block) const {
    return block * static_cast<std::uint32_t>(sizeof(VisibleBlock) / sizeof(std::uint32_t));
  }
};

// Coefficients that lie on the host, as far as there are copies of them on the device.
struct CoefficientCopies {
  const float* fetched;                 // null if none has been
  const VisibleBlock* fetched_visible;  // whose rows
  unsigned fetched_rows;
  float* shown;  // for those of this view, in the first rows of its splats; may be null
  unsigned shown_rows;
};

struct ProjectOutput {
  const VisibleBlock* visible;
  unsigned row_capacity;
  ProjectedSplat* splat;
  std::uint32_t *tile_count, *depth_key;
  ViewStatus* status;
};

// The number of rows that the view needs.
__device__ unsigned shown_count(const VisibleBlock* visible, unsigned gaussian_count) {
  const VisibleBlock last = visible[(gaussian_count - 1) / kWarp];
  return last.first_row + __popc(last.mask);
}

// Loads the rows of the warp's Gaussians that are drawn from where they are, and stores them in
// `copies.shown`.
template <int kDegree>
__device__ void load_coefficients(const GaussianPointers& g, unsigned i, unsigned drawn, LaneRow at,
                                  const CoefficientCopies& copies, CoefficientRows<kDegree>& mine) {
  unsigned in_place = drawn;
  if (copies.fetched) {
    const LaneRow there = row_of_lane(copies.fetched_visible, i, g.count);
    const unsigned held = __ballot_sync(kAllLanes, there.is_shown && there.row < copies.fetched_rows);
    mine.load_dense(copies.fetched + first_row_of_warp(there) * mine.kFloats, held, drawn & held);
    in_place = drawn & ~held;
  }
  mine.load(g.coefficients() + static_cast<std::size_t>(i - lane_index()) * mine.kFloats, in_place);
  if (!copies.shown) return;
  const unsigned kept = __ballot_sync(kAllLanes, at.is_shown && at.row < copies.shown_rows);
  mine.store_dense(copies.shown + first_row_of_warp(at) * mine.kFloats, kept, drawn & kept);
}

template <int kDegree, bool kOffloaded>
__device__ Vec3f shade(const GaussianPointers& g, unsigned i, Vec3f mean, const M::Pinhole& camera,
                       bool is_drawn, LaneRow at, const CoefficientCopies& copies,
                       CoefficientRows<kDegree>* rows) {
  if (g.color) return is_drawn ? g.color[i] : Vec3f(0, 0, 0);
  CoefficientRows<kDegree>& mine = rows[threadIdx.x / kWarp];
  const unsigned drawn = __ballot_sync(kAllLanes, is_drawn);
  if constexpr (kOffloaded)
    load_coefficients(g, i, drawn, at, copies, mine);
  else
    mine.load(g.coefficients() + static_cast<std::size_t>(i - lane_index()) * mine.kFloats, drawn);
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

// kOffloaded says whether the coefficients lie on the host: copying them takes registers that the kernel
// cannot spare otherwise.
template <int kDegree, bool kAltered, bool kOffloaded>
__global__ void __launch_bounds__(kThreads, 8)
    project_kernel(GaussianPointers g, M::Pinhole camera, M::RenderSettings settings, int columns,
                   TileRows band, CoefficientCopies copies, ProjectOutput out) {
  __shared__ CoefficientRows<kDegree> coefficients[kThreads / kWarp];
  __shared__ BlockTotals totals;
  totals.begin();
  __syncthreads();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const LaneRow at = row_of_lane(out.visible, i, g.count);
  const unsigned shown = shown_count(out.visible, g.count);
  const bool has_room = shown <= out.row_capacity;
  if (!has_room) copies.shown = nullptr;
  if (i == 0) {
    out.status->splat_count = shown;
    out.status->has_overflowed = !has_room;
  }
  M::Footprint f;
  f.opacity = 0;
  Vec3f mean(0, 0, 0);
  if (at.is_shown) {
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
  const Vec3f color = shade<kDegree, kOffloaded>(g, i, mean, camera, f.opacity > 0, at, copies, coefficients);
  if (!M::is_drawable_color(color)) f.opacity = 0;
  if (f.opacity == 0) tiles = 0;

  totals.add(tiles);  // also without room, since the next attempt needs to know them
  if (at.is_shown && has_room) {
    out.tile_count[at.row] = tiles;
    out.depth_key[at.row] = depth_key_of(tiles, f.depth);
    if (f.opacity > 0)
      store(M::splat_of(f, color, settings), f, log2_opacity, out.splat + at.row);
    else
      out.splat[at.row].splat.opacity = 0;
  }
  __syncthreads();
  totals.finish(out.status);
}

// Takes what has been fetched, which is right for this view at most: its update may change some of it.
CoefficientCopies take_fetched(FetchedCoefficients& fetched, const GaussianPointers& g,
                               std::uint64_t host_state) {
  fetched.work.join();
  const bool are_right = fetched.from == g.coefficients() && fetched.host_state == host_state &&
                         fetched.visible.size() == visible_block_count(g.count);
  fetched.host_state = 0;
  if (!are_right) return {};
  return {pointer(fetched.row), pointer(fetched.visible),
          static_cast<unsigned>(fetched.row.size() / coefficient_floats(g.sh_degree)), nullptr, 0};
}

}  // namespace

// VisibleBlock::first_row of every block.
void CudaBackend::scan_rows(CudaPass& pass, DeviceArray<VisibleBlock>& visible) {
  const auto counts =
      thrust::make_transform_iterator(thrust::make_counting_iterator(0u), ShownIn{pointer(visible)});
  static_assert(offsetof(VisibleBlock, first_row) == sizeof(std::uint32_t));
  const auto first_rows = thrust::make_permutation_iterator(
      reinterpret_cast<std::uint32_t*>(pointer(visible)) + 1,
      thrust::make_transform_iterator(thrust::make_counting_iterator(0u), WordOfBlock()));
  const auto scan = [&](void* scratch, std::size_t& bytes) {
    check(cub::DeviceScan::ExclusiveSum(scratch, bytes, counts, first_rows, static_cast<int>(visible.size()),
                                        stream()),
          "number the splats");
  };
  if (pass.row_scan.blocks != visible.size()) {
    scan(nullptr, pass.row_scan.bytes);
    pass.row_scan.blocks = visible.size();
  }
  std::size_t bytes = pass.row_scan.bytes;
  pass.arena.begin(Arena::padded(bytes));
  scan(pass.arena.take_bytes(bytes), bytes);
}

void CudaBackend::project(const DeviceGaussians& gaussians, const Precomputed& precomputed, const View& view,
                          Pass& pass) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  begin_view(mine, view);
  const std::size_t count = gaussians.size();
  Projection& projection = pass.projection;
  projection.visible.resize(*this, visible_block_count(count));
  const GaussianPointers g = pointers(gaussians, precomputed, view);
  const M::Pinhole camera = pinhole(view.camera);
  const M::RenderSettings settings = render_settings(view.options);
  const unsigned blocks = blocks_for(count, kThreads);
  std::size_t rows = 0;
  if (count > 0) {
    with_form(g, [&](auto, auto is_altered) {
      find_visible_kernel<is_altered()>
          <<<blocks, kThreads, 0, stream()>>>(g, camera, settings, nullptr, pointer(projection.visible));
    });
    check(cudaGetLastError(), "launch project");
    scan_rows(mine, projection.visible);
    rows = rows_for(mine, view, projection.visible, count);
  }
  projection.splat.resize(*this, rows);
  mine.tile_count.resize(*this, rows);
  mine.depth_key.resize(*this, rows);
  const bool is_offloaded = !g.color && is_on_host(g.sh);
  CoefficientCopies copies = take_fetched(mine.fetched, g, context_->host_state());
  keep_shown_coefficients(mine, is_offloaded && view.id != kNoView ? rows : 0, g.sh_degree);
  copies.shown = pointer(mine.shown_coefficients);
  copies.shown_rows = static_cast<unsigned>(mine.shown_coefficients.size() / coefficient_floats(g.sh_degree));
  if (rows > 0) {
    const ProjectOutput out{pointer(projection.visible), static_cast<unsigned>(rows),
                            pointer(projection.splat),   pointer(mine.tile_count),
                            pointer(mine.depth_key),     mine.view_status()};
    const auto run = [&](auto degree, auto is_altered, auto is_offload) {
      project_kernel<degree(), is_altered(), is_offload()><<<blocks, kThreads, 0, stream()>>>(
          g, camera, settings, tile_columns_of(view.camera), tile_rows_of(view), copies, out);
    };
    with_form(g, [&](auto degree, auto is_altered) {
      is_offloaded ? run(degree, is_altered, std::true_type()) : run(degree, is_altered, std::false_type());
    });
    check(cudaGetLastError(), "launch project");
  }
  mine.events.record(Stage::kProject, stream());
}

}  // namespace stipple::cuda
