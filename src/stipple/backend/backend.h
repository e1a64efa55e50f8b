// SPDX-License-Identifier: Apache-2.0
#pragma once
// The contract between the trainer and a device: the stages of the pipeline, in the order data meets them,
// and what passes between them. Layouts are the same on every backend, so that any stage of one can be
// checked against another.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/camera.h"
#include "stipple/core/device.h"

namespace stipple {

using Splat = Math<float>::Splat;
using PackedCovariance = Math<float>::PackedCovariance;

enum class DepthOutput { kNone, kExpected, kInverse };

struct RenderOptions {
  Vec3f background{0, 0, 0};
  DepthOutput depth = DepthOutput::kNone;  // what is not asked for costs nothing
  bool antialiased = false;                // dims splats by what the screen blur adds to them
  float scale_modifier = 1;
  float alpha_max = Math<float>::default_alpha_max;
  float near_plane = Math<float>::default_near_plane;  // scene units
};

struct TileRows {  // begin to end - 1
  int begin, end;
};

struct View {  // everything that decides what a picture of given Gaussians looks like
  Camera camera;
  RenderOptions options;
  // Only these rows of tiles are drawn, and the rest of the frame is left as it is: a picture for which a
  // device has no room as a whole is drawn in such bands.
  TileRows band{0, 1 << 30};
};

// Those of the band that the picture has.
inline TileRows tile_rows_of(const View& view) {
  const int tile = Math<float>::tile_size_px, all = (view.camera.height_px + tile - 1) / tile;
  const int begin = std::clamp(view.band.begin, 0, all);
  return {begin, std::clamp(view.band.end, begin, all)};
}

// Values given in place of computed ones; an empty array means: computed. Their gradients have the same type.
struct Precomputed {
  DeviceArray<Vec3f> color;                  // instead of sh
  DeviceArray<PackedCovariance> covariance;  // instead of log_scale and rotation
  // log_scale holds the scales themselves and logit_opacity the opacities, and their gradients are by those.
  bool is_activated = false;
};

// One Gaussian on the screen: 64 bytes, a cache line.
struct alignas(64) ProjectedSplat {
  Splat splat;           // opacity 0 means culled, and then nothing else in here means anything
  float depth;           // z in the camera frame, scene units
  Vec2f half_extent_px;  // of the box outside which alpha < 1/255; the larger one is the radius
  float log2_opacity;
  std::uint32_t unused[2];
};
static_assert(sizeof(ProjectedSplat) == 64);

struct Projection {  // project -> bin, blend
  DeviceArray<ProjectedSplat> splat;
  // For backends that know these before bin: how many tiles a splat touches, the bits of its depth (all set
  // when it touches none), and the totals.
  DeviceArray<std::uint32_t> tile_count, depth_key;
  struct Totals {
    unsigned long long pairs;      // of Gaussian and tile
    unsigned long long gaussians;  // that touch a tile
  };
  DeviceArray<Totals> totals;  // one
};

struct TileBins {  // bin -> blend
  int column_count = 0, row_count = 0;
  int first_row = 0;  // tile 0 is the first of this row of the picture's tiles
  // Tile t owns slots [begin[t], begin[t + 1]), nearest Gaussian first, ties by index.
  DeviceArray<std::uint32_t> slot_begin_from_tile;
  DeviceArray<std::uint32_t> gaussian_from_slot;
  // Every (Gaussian, tile) pair is an emission, and those of a Gaussian are a run: for backends whose
  // blend_backward keeps the pairs' sums apart, so that their order is fixed. Empty where that is not wanted.
  struct Emissions {
    std::uint32_t begin, end;
  };
  DeviceArray<std::uint32_t> emission_from_slot;
  DeviceArray<Emissions> emissions_from_gaussian;
};

// Pictures are planar on a device: value[(channel * height + y) * width + x].
struct Frame {  // blend -> loss, blend_backward
  int width_px = 0, height_px = 0;
  DeviceArray<float> color;          // 3 planes, over the background
  DeviceArray<float> transmittance;  // 1 plane; accumulated alpha is 1 - this
  DeviceArray<float> depth;          // 1 plane, or empty when not asked for
  // For backends whose blend_backward starts at several places of a long tile at once: its chunks after the
  // first, in no particular order, the state of its pixels at their start, and where all of a tile was
  // finished.
  struct Chunk {
    std::uint32_t tile, slot_begin;
  };
  DeviceArray<Chunk> chunks;
  DeviceArray<std::uint32_t> chunk_count;  // one
  DeviceArray<float> checkpoint;
  DeviceArray<std::uint32_t> slot_end_from_tile;
};

struct FrameGradient {       // loss -> blend_backward
  DeviceArray<float> color;  // 3 planes
  DeviceArray<float> alpha;  // 1 plane, or empty: no gradient of the accumulated alpha
  DeviceArray<float> depth;  // 1 plane, or empty
};

struct SplatGradient {       // blend_backward -> project_backward
  DeviceArray<Splat> splat;  // one per Gaussian; zero where it was not seen
  bool wants_absolute = false;
  DeviceArray<Vec2f>
      absolute_mean_px;  // only when wanted: of splat.mean_px, pixels' shares without their signs
  bool wants_background = false;
  Vec3f background{0, 0, 0};  // only when wanted
};

struct CameraGradient {  // the rotation's nine entries count as independent
  RigidTransform camera_from_world{{0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0}};
  Vec2f focal_px{0, 0};
  Vec2f center_px{0, 0};
};

struct LossTarget {
  DeviceArray<std::uint8_t> color;  // 8 bit, interleaved RGB, value 255 is white
  DeviceArray<float> weight;        // per pixel, 0 ignores it; empty: every pixel counts 1
};

struct LossValue {
  float total = 0;
  float mean_squared_error = 0;  // over all pixels and channels; weighted as the loss is
};

// What adaptive density control decides by. For each Gaussian x sums the lengths of dL_dmean_px, in units of
// half the picture's size, over the views that showed it, and y counts those. Absolute gradients go before
// plain ones.
struct DensityStatistics {
  DeviceArray<Vec2f> sum;
};

struct AdamOptions {
  // Learning rates by parameter group; the base colour and the view-dependent rest are two groups.
  float mean = 0, log_scale = 0, rotation = 0, logit_opacity = 0, sh_base = 0, sh_rest = 0;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-15f;
  int step = 1;               // counted from 1, for the bias correction
  bool visible_only = false;  // leave Gaussians that this view does not show untouched, moments and all
  // Added to the loss: so much times the mean opacity, and times the mean scale.
  float opacity_penalty = 0, scale_penalty = 0;
};

struct AdamMoments {
  DeviceGaussians first, second;
};

enum class Stage { kPhoto, kProject, kBin, kBlend, kLoss, kBlendBackward, kOptimize, kRefine, kCount };
constexpr std::array<const char*, static_cast<std::size_t>(Stage::kCount)> kStageNames = {
    "photo", "project", "bin", "blend", "loss", "blend_backward", "project_backward_optimize", "refine"};
using StageTimes = std::array<double, static_cast<std::size_t>(Stage::kCount)>;  // ms

struct TrainState {  // what a step changes
  DeviceGaussians gaussians;
  AdamMoments moments;
  DensityStatistics statistics;
};

struct TrainStep {  // what a step is to do
  float ssim_weight = 0;
  AdamOptions adam;
  bool absolute_gradients = false;  // in the statistics
  float noise = 0;                  // perturb by so much; 0: not at all
  std::uint64_t noise_seed = 0;
};

struct TrainBuffers {  // what a step leaves behind for the next to reuse; meaningless in between
  Projection projection;
  TileBins bins;
  Frame frame;
  FrameGradient dL_dframe;
  SplatGradient dL_dsplat;
};

struct TrainOutcome {
  LossValue loss;
  bool is_finite = true;  // if not, nothing was changed
  StageTimes ms{};        // of this step or, where it costs time to know, of one shortly before
};

// One implementation of the pipeline on one device.
class Backend : public Device {
 public:
  virtual std::string_view name() const = 0;
  virtual std::string description() const = 0;  // for people: the device and what is used of it

  virtual void project(const DeviceGaussians&, const Precomputed&, const View&, Projection& out) = 0;
  virtual void bin(const Projection&, const View&, TileBins& out) = 0;
  virtual void blend(const Projection&, const TileBins&, const View&, Frame& out) = 0;

  // (1 - ssim_weight) mean |difference| + ssim_weight (1 - mean SSIM)
  virtual LossValue loss(const Frame&, const LossTarget&, float ssim_weight, FrameGradient& out) = 0;

  virtual void blend_backward(const Projection&, const TileBins&, const View&, const Frame&,
                              const FrameGradient&, SplatGradient& out) = 0;
  // dL_dcamera may be null: then it costs nothing.
  virtual void project_backward(const DeviceGaussians&, const Precomputed&, const View&, const Projection&,
                                const SplatGradient&, DeviceGaussians& dL_dgaussians,
                                Precomputed& dL_dprecomputed, CameraGradient* dL_dcamera) = 0;

  virtual void optimize(DeviceGaussians&, const DeviceGaussians& dL_dgaussians, const Projection&,
                        AdamMoments&, const AdamOptions&) = 0;

  // project_backward and optimize in one, with the bits that the two would give: for training, where nothing
  // else reads the gradients of the parameters, which are the bulk of a step's memory traffic.
  virtual void project_backward_optimize(DeviceGaussians&, const View&, const Projection&,
                                         const SplatGradient&, AdamMoments&, const AdamOptions&) = 0;

  // Adds a view's gradients to the statistics, which have one entry a Gaussian. False, and nothing is added,
  // when one of them is not finite.
  virtual bool observe(const Projection&, const SplatGradient&, const View&, DensityStatistics&) = 0;

  // Moves every mean by amount * f * covariance * n, n standard normal from the seed and the Gaussian's
  // index, f falling from 1 to 0 where the opacity exceeds 0.005 by some hundredths.
  virtual void perturb(DeviceGaussians&, float amount, std::uint64_t seed) = 0;

  // A view's whole step, from project to perturb. Here it is the stages one after the other; a device that is
  // kept waiting by every answer to the host does better.
  virtual TrainOutcome train_step(TrainState&, const View&, const LossTarget&, const TrainStep&,
                                  TrainBuffers&);

  // to[i] = from[rows[i]], rows of this many bytes, or zero for kNoRow: what cloning, pruning and re-ordering
  // Gaussians comes down to.
  static constexpr std::uint32_t kNoRow = 0xffffffff;
  virtual void gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes,
                      Memory& to) = 0;
};

// The Gaussians in `rows`, in that order; a row may come more than once.
DeviceGaussians gather(Backend& backend, const DeviceGaussians& from, const DeviceArray<std::uint32_t>& rows);

struct BackendOptions {
  bool deterministic = false;  // the same bits from run to run also where that costs time; the CPU always is
  std::size_t max_bytes = 0;   // of the device's own memory to use at most; 0: what is free
};

// "cuda" or "cpu", or "best" for the first of these that works here. Throws Error naming what there is.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});

// The names that make_backend takes in this build, fastest first.
std::vector<std::string> backend_names();

// Why such a backend cannot be used on this machine, as a sentence; empty when it can.
std::string why_unusable(std::string_view name);

}  // namespace stipple
