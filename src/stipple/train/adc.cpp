// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/adc.h"

#include <algorithm>
#include <cmath>

#include "stipple/math/math.h"

namespace stipple {

namespace {

using M = Math<float>;

constexpr float kChildScale = 1 / 1.6f;  // of its parent's

float logit(float p) { return std::log(p / (1 - p)); }

float largest(Vec3f log_scale) { return std::exp(std::max({log_scale.x, log_scale.y, log_scale.z})); }

class Planner {
 public:
  Planner(const DensityInput& input, const TrainOptions& options, float extent, bool prune_large)
      : in_(input), options_(options), extent_(extent), prune_large_(prune_large) {}

  DensityPlan plan(Random& random) {
    const std::vector<bool> grows = choose_growing();
    DensityPlan plan;
    for (std::size_t i = 0; i < in_.mean.size(); ++i) {
      if (is_faint(i)) continue;
      if (grows[i] && is_large(i))
        split(i, random, plan);
      else if (!is_huge(in_.log_scale[i]))
        keep_or_clone(i, grows[i], plan);
    }
    return plan;
  }

 private:
  bool is_faint(std::size_t i) const { return M::sigmoid(in_.logit_opacity[i]) < options_.prune_opacity; }
  bool is_large(std::size_t i) const { return largest(in_.log_scale[i]) > options_.clone_scale * extent_; }
  bool is_huge(Vec3f log_scale) const {
    return prune_large_ && largest(log_scale) > options_.prune_scale * extent_;
  }
  float gradient(std::size_t i) const {
    const Vec2f s = in_.statistics[i];
    return s.y > 0 ? s.x / s.y : 0.0f;
  }

  // Those whose gradient is large enough or, where a cap leaves less room, the largest of them.
  std::vector<bool> choose_growing() const {
    std::vector<std::uint32_t> candidates;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < in_.mean.size(); ++i) {
      if (is_faint(i)) continue;
      const bool grows = gradient(i) >= options_.grow_gradient;
      if (is_huge(in_.log_scale[i]) && !grows) continue;
      ++kept;
      if (grows) candidates.push_back(static_cast<std::uint32_t>(i));
    }
    if (options_.max_gaussians > 0) limit(candidates, kept);
    std::vector<bool> chosen(in_.mean.size(), false);
    for (std::uint32_t i : candidates) chosen[i] = true;
    return chosen;
  }

  // Each candidate adds one Gaussian to those that are kept.
  void limit(std::vector<std::uint32_t>& candidates, std::size_t kept) const {
    const std::size_t room = options_.max_gaussians > kept ? options_.max_gaussians - kept : 0;
    if (candidates.size() <= room) return;
    std::sort(candidates.begin(), candidates.end(), [&](std::uint32_t a, std::uint32_t b) {
      const float ga = gradient(a), gb = gradient(b);
      return ga != gb ? ga > gb : a < b;
    });
    candidates.resize(room);
  }

  void keep_or_clone(std::size_t i, bool clones, DensityPlan& plan) const {
    plan.keep(in_, i);
    if (clones) plan.add(in_, i);
  }

  // Two smaller ones at places drawn from the Gaussian itself, instead of it.
  void split(std::size_t i, Random& random, DensityPlan& plan) const {
    const Mat3f rotation = M::rotation_from_quaternion(in_.rotation[i]);
    const Vec3f scale = M::scale_from_log(in_.log_scale[i], 1.0f);
    const Vec3f child = in_.log_scale[i] + Vec3f(1, 1, 1) * std::log(kChildScale);
    for (int k = 0; k < 2; ++k) {
      const float x = random.normal(), y = random.normal(), z = random.normal();
      if (is_huge(child)) continue;
      plan.add(in_, i);
      plan.mean.back() = in_.mean[i] + rotation * (scale * Vec3f(x, y, z));
      plan.log_scale.back() = child;
    }
  }

  const DensityInput& in_;
  const TrainOptions& options_;
  float extent_;
  bool prune_large_;
};

}  // namespace

DensityPlan plan_adc(const DensityInput& input, const TrainOptions& options, float extent, bool prune_large,
                     Random& random) {
  return Planner(input, options, extent, prune_large).plan(random);
}

void reset_opacities(Backend& backend, const TrainOptions& options, DeviceGaussians& gaussians,
                     AdamMoments& moments) {
  std::vector<float> logits = gaussians.logit_opacity.download(backend);
  const float most = logit(options.reset_opacity);
  for (float& v : logits) v = std::min(v, most);
  gaussians.logit_opacity.upload(backend, logits);
  moments.first.logit_opacity.resize_zero(backend, logits.size());
  moments.second.logit_opacity.resize_zero(backend, logits.size());
}

}  // namespace stipple
