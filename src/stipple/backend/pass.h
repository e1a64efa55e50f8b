// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// A pass: the state of a view being rendered, from the projection to the gradients of the splats. Several
// passes can exist at once on one backend: the trainer's, a viewer's, an evaluation's. The structs hold what
// every backend provides, in the same layout everywhere, so that each stage can be compared across backends.
// Anything else that a backend keeps between stages is in its own PassScratch.
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stipple/backend/view.h"
#include "stipple/core/device.h"

namespace stipple {

using Splat = Math<float>::Splat;
using PackedCovariance = Math<float>::PackedCovariance;

// Inputs that replace computed values; if an array is empty, the values are computed. The gradients with
// respect to colour and covariance have the same type.
struct Precomputed {
  DeviceArray<Vec3f> color;                  // instead of sh
  DeviceArray<PackedCovariance> covariance;  // instead of log_scale and rotation
  // Per Gaussian, the variance that the 3D filter adds along each of its axes, in square scene units, before
  // the Gaussian is dimmed to match (math/alteration.glsl). A constant for the gradients. It does not affect
  // a covariance that is given.
  DeviceArray<float> filter_variance;
  // log_scale holds scales and logit_opacity opacities, and their gradients are with respect to these.
  bool is_activated = false;
};

// A Gaussian projected on the screen: 64 bytes, one cache line.
struct alignas(64) ProjectedSplat {
  Splat splat;           // opacity 0 means not drawn: all other fields are then undefined
  float depth;           // z in the camera frame, scene units
  Vec2f half_extent_px;  // of the box outside which alpha < 1/255; the larger is the radius
  float log2_opacity;
  std::uint32_t unused[2];
};
static_assert(sizeof(ProjectedSplat) == 64);

// The Gaussians that a view shows are those whose footprint is on the screen. Each of them has a row in the
// arrays of splats, in the order of the model, so that the size of a pass depends on what its view shows and
// not on the size of the model. This finds the rows of 32 consecutive Gaussians; number k has bit k.
struct VisibleBlock {
  std::uint32_t mask;       // of those that are shown
  std::uint32_t first_row;  // the number of shown Gaussians in all blocks before

  static constexpr std::size_t kGaussians = 32;
  bool shows(std::size_t k) const { return (mask >> k & 1) != 0; }
  std::size_t row(std::size_t k) const {  // of number k, or of the next one that is shown
    return first_row + static_cast<std::size_t>(std::popcount(mask & ((std::uint32_t{1} << k) - 1)));
  }
  std::size_t end_row() const { return first_row + static_cast<std::size_t>(std::popcount(mask)); }
};
static_assert(sizeof(VisibleBlock) == 8);

constexpr std::size_t visible_block_count(std::size_t gaussians) {
  return (gaussians + VisibleBlock::kGaussians - 1) / VisibleBlock::kGaussians;
}

struct Projection {  // project -> bin, blend, and the backward stages
  // A row for every Gaussian that is shown; there may be more, of undefined contents, if their number was
  // predicted. A row can have opacity 0: the Gaussian's colour is not a number, and it is not drawn.
  DeviceArray<ProjectedSplat> splat;
  DeviceArray<VisibleBlock> visible;  // empty if the splats have been received
};

// The Gaussian of every row.
std::vector<std::uint32_t> gaussians_of_rows(std::span<const VisibleBlock> visible);

struct TileBins {  // bin -> blend
  int column_count = 0, row_count = 0;
  int first_row = 0;  // tile 0 is the leftmost tile of this row of the image
  // Tile t owns slots [begin[t], begin[t + 1]), nearest splat first, ties in order of index.
  DeviceArray<std::uint32_t> slot_begin_from_tile;
  DeviceArray<std::uint32_t> splat_from_slot;  // its row; may exceed the slot count if predicted
};

// Images on a device are planar: value[(channel * height + y) * width + x].
struct Frame {  // blend -> loss, blend_backward
  int width_px = 0, height_px = 0;
  DeviceArray<float> color;          // 3 planes, blended over the background
  DeviceArray<float> transmittance;  // 1 plane; the accumulated alpha is 1 - this
  DeviceArray<float> depth;          // 1 plane, or empty if not requested
};

struct FrameGradient {       // loss -> blend_backward
  DeviceArray<float> color;  // 3 planes
  DeviceArray<float> alpha;  // 1 plane, for the accumulated alpha; empty if it has no gradient
  DeviceArray<float> depth;  // 1 plane, or empty if there is no gradient
};

struct SplatGradient {                  // blend_backward -> project_backward
  DeviceArray<Splat> splat;             // in the rows of Projection::splat; zero if it is not drawn
  DeviceArray<Vec2f> absolute_mean_px;  // only if wanted: sums of the absolute values of the pixels'
                                        // contributions to the gradient of splat.mean_px
};

// Further values per Gaussian, such as features, normals or labels, which are blended over the same slots as
// its colour but without a background. They, and their gradients, are of all Gaussians, shown or not.
struct Channels {
  int count = 0;             // per Gaussian
  DeviceArray<float> value;  // [gaussian * count + channel]
};

// The gradients that the backward stages compute. Unwanted ones cost nothing.
struct WantedGradients {
  // Pass::dL_dsplat. If false, a backend may pass the splats' gradients to the next stage in its own format.
  bool splats = true;
  bool absolute_mean = false;    // SplatGradient::absolute_mean_px
  bool view_statistics = false;  // GradientSum::view_statistics
  // Training: pass on the gradient of a colour channel that is clamped at 0 if descent along it raises the
  // channel. The exact gradient, which is 0, would keep it there for ever.
  bool lifts_clamped_colors = false;
  bool background = false;  // ViewResult::background
  bool camera = false;      // ViewResult::camera
};

struct CameraGradient {  // treats the rotation's nine entries as independent
  RigidTransform camera_from_world{{0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0}};
  Vec2f focal_px{0, 0};
  Vec2f center_px{0, 0};
};

// The order of its values in an array: rotation, translation, focal lengths, principal point.
constexpr int kCameraFields = 16;
template <class T>
CameraGradient camera_gradient(const T* sum) {
  const auto f = [&](int i) { return static_cast<float>(sum[i]); };
  CameraGradient g;
  g.camera_from_world.rotation = {f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8)};
  g.camera_from_world.translation = {f(9), f(10), f(11)};
  g.focal_px = {f(12), f(13)};
  g.center_px = {f(14), f(15)};
  return g;
}

// The pairs of one splat. Each pair has a number, its emission, and the pairs of a splat are numbered
// consecutively: a backend that stores one partial sum per pair can then add them up in a fixed order.
struct PairRange {
  std::uint32_t begin, end;
};

// Gradients of the parameters, summed over the views of one step.
struct GradientSum {
  DeviceGaussians gaussians;
  Precomputed precomputed;
  // For each Gaussian, x is the sum of |dL_dmean_px|, or of |absolute_mean_px| if that is wanted, over the
  // views in which it is visible, in units of half the image size; y is the number of these views.
  DeviceArray<Vec2f> view_statistics;
  bool is_empty = true;  // the next view's gradients overwrite the arrays instead of being added
};

// Resizes the arrays of a sum for these Gaussians; has no effect unless the sum is empty.
void resize_sum(Device& device, const DeviceGaussians& gaussians, const Precomputed& precomputed,
                const WantedGradients& wanted, GradientSum& sum);

struct LossValue {
  float total = 0;
  float mean_squared_error = 0;  // over all pixels and channels, with the pixel weights of the loss
};

enum class Stage {
  kPhoto,
  kProject,
  kExchange,
  kBin,
  kBlend,
  kLoss,
  kBlendBackward,
  kOptimize,
  kRefine,
  kCount
};
constexpr std::array<const char*, static_cast<std::size_t>(Stage::kCount)> kStageNames = {
    "photo", "project", "exchange", "bin", "blend", "loss", "blend_backward", "project_backward_optimize",
    "refine"};
using StageTimes = std::array<double, static_cast<std::size_t>(Stage::kCount)>;  // ms

struct ViewResult {
  LossValue loss;
  CameraGradient camera;               // only if wanted
  Vec3f background{0, 0, 0};           // only if wanted
  std::size_t visible = 0, pairs = 0;  // on a GPU: Gaussians that touch a tile, and pairs of the two
};

struct PassResult {
  std::vector<ViewResult> views;  // in the order of projection
  bool is_finite = true;  // false if a loss or gradient was not finite; the update then changed nothing
  // The predicted capacity of a view was too small. The update changed nothing, the prediction has been
  // corrected, and the caller must run the pass again.
  bool has_overflowed = false;
  std::uint64_t exchanged_bytes = 0;  // that all ranks have sent to others
  StageTimes ms{};  // of this pass, or of a recent one if measuring this one would cost time
};

// A backend's private part of a pass.
class PassScratch {
 public:
  virtual ~PassScratch() = default;
};

struct Pass {
  Projection projection;
  TileBins bins;
  Frame frame;
  FrameGradient dL_dframe;
  SplatGradient dL_dsplat;
  std::unique_ptr<PassScratch> scratch;
};

// What the memory of a pass depends on.
struct PassSize {
  std::size_t gaussians = 0;           // of the model
  std::size_t visible = 0, pairs = 0;  // the most of any view, as in ViewResult
  std::size_t pixels = 0;              // of the largest view
  bool has_depth = false;              // depths are rendered and have gradients
  bool has_absolute = false;           // WantedGradients::absolute_mean
  int sh_degree = 3;
  Place harmonics = Place::kDevice;  // where they lie
};

// Throws Error unless Pass::dL_dframe matches Pass::frame. Gradients from a caller's loss may not.
void check_frame_gradient(const Pass& pass);

// Gives Pass::dL_dframe the planes of alpha and depth that it lacks, filled with zeros.
void add_depth_gradient(Device& device, Pass& pass);

// Copies everything but the scratch, which only its backend can copy (Backend::copy_of).
void copy_public(Device& device, const Pass& from, Pass& to);

}  // namespace stipple
