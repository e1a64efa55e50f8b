// SPDX-License-Identifier: Apache-2.0
#pragma once
// A pass: what pictures need while they are in flight, from the projection to the gradients of the splats.
// Several passes may exist at once on one backend: the trainer's, a viewer's, an evaluation's. The structs
// hold what every backend provides, in layouts that are the same everywhere, so that any stage of one backend
// can be compared with another's. Whatever else a backend keeps between its stages is in its own PassScratch.
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "stipple/backend/view.h"
#include "stipple/core/device.h"

namespace stipple {

using Splat = Math<float>::Splat;
using PackedCovariance = Math<float>::PackedCovariance;

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
};

struct TileBins {  // bin -> blend
  int column_count = 0, row_count = 0;
  int first_row = 0;  // tile 0 is the first of this row of the picture's tiles
  // Tile t owns slots [begin[t], begin[t + 1]), nearest Gaussian first, ties by index.
  DeviceArray<std::uint32_t> slot_begin_from_tile;
  DeviceArray<std::uint32_t>
      gaussian_from_slot;  // may be longer than there are slots, where room was predicted
};

// Pictures are planar on a device: value[(channel * height + y) * width + x].
struct Frame {  // blend -> loss, blend_backward
  int width_px = 0, height_px = 0;
  DeviceArray<float> color;          // 3 planes, over the background
  DeviceArray<float> transmittance;  // 1 plane; accumulated alpha is 1 - this
  DeviceArray<float> depth;          // 1 plane, or empty when not asked for
};

struct FrameGradient {       // loss -> blend_backward
  DeviceArray<float> color;  // 3 planes
  DeviceArray<float> alpha;  // 1 plane, or empty: no gradient of the accumulated alpha
  DeviceArray<float> depth;  // 1 plane, or empty
};

struct SplatGradient {                  // blend_backward -> project_backward
  DeviceArray<Splat> splat;             // one per Gaussian; zero where it was not seen
  DeviceArray<Vec2f> absolute_mean_px;  // only when wanted: of splat.mean_px by the frame, pixels' shares
                                        // without their signs
};

// Further values of every Gaussian, blended over the same slots as its colour: features, normals, labels.
// They have no background.
struct Channels {
  int count = 0;             // per Gaussian
  DeviceArray<float> value;  // [gaussian * count + channel]
};

// What the backward stages are asked for. What is not wanted costs nothing.
struct WantedGradients {
  // Of the splats themselves, in Pass::dL_dsplat. Where nobody looks at them, a backend may hand them on to
  // the next stage in a form of its own.
  bool splats = true;
  bool absolute_mean = false;    // SplatGradient::absolute_mean_px
  bool view_statistics = false;  // GradientSum::view_statistics
  bool background = false;       // ViewResult::background
  bool camera = false;           // ViewResult::camera
};

struct CameraGradient {  // the rotation's nine entries count as independent
  RigidTransform camera_from_world{{0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0}};
  Vec2f focal_px{0, 0};
  Vec2f center_px{0, 0};
};

// Its numbers in a row: rotation, translation, focal lengths, principal point.
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

// Every (Gaussian, tile) pair is an emission, and those of a Gaussian are a run: for backends that keep the
// sums of pairs apart, so that the order in which they are added up is fixed.
struct PairRange {
  std::uint32_t begin, end;
};

// Gradients of the parameters, summed over the views of one optimiser step.
struct GradientSum {
  DeviceGaussians gaussians;
  Precomputed precomputed;
  // For each Gaussian, x sums the lengths of dL_dmean_px, in units of half the picture's size, over the views
  // that showed it, and y counts those views. Absolute gradients take precedence over plain ones.
  DeviceArray<Vec2f> view_statistics;
  bool is_empty = true;  // the next view's gradients replace whatever the arrays hold, instead of being added
};

// Sizes the arrays of a sum that is empty for these Gaussians.
void resize_sum(Device& device, const DeviceGaussians& gaussians, const Precomputed& precomputed,
                const WantedGradients& wanted, GradientSum& sum);

struct LossValue {
  float total = 0;
  float mean_squared_error = 0;  // over all pixels and channels; weighted as the loss is
};

enum class Stage { kPhoto, kProject, kBin, kBlend, kLoss, kBlendBackward, kOptimize, kRefine, kCount };
constexpr std::array<const char*, static_cast<std::size_t>(Stage::kCount)> kStageNames = {
    "photo", "project", "bin", "blend", "loss", "blend_backward", "project_backward_optimize", "refine"};
using StageTimes = std::array<double, static_cast<std::size_t>(Stage::kCount)>;  // ms

struct ViewResult {
  LossValue loss;
  CameraGradient camera;      // only when wanted
  Vec3f background{0, 0, 0};  // only when wanted
};

struct PassResult {
  std::vector<ViewResult> views;  // in the order in which they were projected
  bool is_finite = true;  // if not, a loss or a gradient was not a number, and update has changed nothing
  // The room predicted for a view was too small: update has changed nothing, and the pass is to be run again.
  // The prediction has been corrected.
  bool has_overflowed = false;
  StageTimes ms{};  // of this pass or, where it costs time to know, of one shortly before
};

// What a backend keeps for itself in a pass.
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

// Throws Error unless the gradients are of the frame that is there: a caller's own loss gives them, too.
void check_frame_gradient(const Pass& pass);

// Everything but the scratch, which only its backend can copy (Backend::copy_of).
void copy_public(Device& device, const Pass& from, Pass& to);

}  // namespace stipple
