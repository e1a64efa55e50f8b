// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/adc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stipple/core/parallel.h"
#include "stipple/math/math.h"
#include "stipple/ranks/collectives.h"
#include "stipple/train/shards.h"

namespace stipple {

namespace {

using M = Math<float>;

constexpr float kChildScale = 1 / 1.6f;       // relative to the parent
constexpr std::uint64_t kDrawsPerNormal = 2;  // uniform numbers per normally distributed one
constexpr std::uint64_t kDrawsPerSplit = 6 * kDrawsPerNormal;
constexpr std::size_t kGrain = 1 << 14;

enum class Fate : std::uint8_t { kGoes, kStays, kIsCloned, kIsSplit };

bool grows(Fate fate) { return fate == Fate::kIsCloned || fate == Fate::kIsSplit; }

float largest(Vec3f v) { return std::max({v.x, v.y, v.z}); }

// Sizes and opacities are compared in their stored form, as logarithms and logits.
class Planner {
 public:
  Planner(const DensityInput& input, const TrainOptions& options, float extent, bool prune_large,
          bool may_grow, Ranks& ranks)
      : in_(input),
        options_(options),
        may_grow_(may_grow),
        ranks_(ranks),
        least_logit_(M::logit(std::min(options.prune_opacity, 1.0f))),
        clone_log_scale_(std::log(options.clone_scale * extent)),
        prune_log_scale_(prune_large ? std::log(options.prune_scale * extent)
                                     : std::numeric_limits<float>::infinity()) {}

  // Every Gaussian has its own section of the random numbers, whether it is split or not, so that its section
  // does not depend on the Gaussians before it.
  DensityPlan plan(Random& random) const {
    const std::vector<Fate> fates = choose();
    std::vector<std::uint32_t> count(fates.size());
    std::transform(fates.begin(), fates.end(), count.begin(), [](Fate fate) {
      return fate == Fate::kGoes ? 0u : grows(fate) ? 2u : 1u;
    });
    DensityPlan plan = plan_copies(in_, count, [&](std::size_t i, std::size_t first, DensityPlan& out) {
      if (fates[i] == Fate::kIsSplit) split(i, first, random, out);
    });
    random.skip(in_.size_of_model() * kDrawsPerSplit);
    return plan;
  }

 private:
  float gradient(std::size_t i) const {
    const Vec2f s = in_.statistics[i];
    return s.y > 0 ? s.x / s.y : 0.0f;
  }

  Fate fate_of(std::size_t i, bool may_grow) const {
    if (in_.logit_opacity[i] < least_logit_) return Fate::kGoes;
    const float size = largest(in_.log_scale[i]);
    const bool does_grow = may_grow && gradient(i) >= options_.grow_gradient;
    if (does_grow && size > clone_log_scale_)
      return size + std::log(kChildScale) > prune_log_scale_ ? Fate::kGoes : Fate::kIsSplit;
    if (size > prune_log_scale_) return Fate::kGoes;
    return does_grow ? Fate::kIsCloned : Fate::kStays;
  }

  std::vector<Fate> choose() const {
    std::vector<Fate> fates(in_.mean.size());
    parallel_for(
        fates.size(), [&](std::size_t i) { fates[i] = fate_of(i, may_grow_); }, kGrain);
    if (options_.max_gaussians > 0) limit(fates);
    return fates;
  }

  // Every Gaussian that grows adds one. If the cap does not leave room for all of them, those with the
  // largest gradients grow.
  void limit(std::vector<Fate>& fates) const {
    const auto count = [&](auto is_counted) {
      return sum_over_ranks(ranks_,
                            static_cast<std::uint64_t>(std::count_if(fates.begin(), fates.end(), is_counted)))
          .total;
    };
    const std::uint64_t kept = count([](Fate fate) { return fate != Fate::kGoes; });
    const std::uint64_t room = options_.max_gaussians > kept ? options_.max_gaussians - kept : 0;
    if (count(grows) <= room) return;
    std::vector<std::uint64_t> candidates;
    for (std::size_t i = 0; i < fates.size(); ++i)
      if (grows(fates[i])) candidates.push_back(growth_key(i));
    std::sort(candidates.begin(), candidates.end());
    const std::uint64_t refused_from = cuts_between(ranks_, candidates, std::span(&room, 1))[0];
    for (std::size_t i = 0; i < fates.size(); ++i)
      if (grows(fates[i]) && growth_key(i) >= refused_from) fates[i] = fate_of(i, false);
  }

  // The largest gradient comes first.
  std::uint64_t growth_key(std::size_t i) const { return descending_key(gradient(i), in_.part.first + i); }

  // Replaces a Gaussian with two smaller ones at positions drawn from its own distribution.
  void split(std::size_t i, std::size_t first, Random random, DensityPlan& plan) const {
    const Mat3f rotation = M::rotation_from_quaternion(in_.rotation[i]);
    const Vec3f scale = M::scale_from_log(in_.log_scale[i], 1.0f);
    random.skip((in_.part.first + i) * kDrawsPerSplit);
    for (std::size_t at = first; at < first + 2; ++at) {
      const float x = random.normal(), y = random.normal(), z = random.normal();
      plan.moment_source[at] = Backend::kNoRow;
      plan.mean[at] = in_.mean[i] + rotation * (scale * Vec3f(x, y, z));
      plan.log_scale[at] = in_.log_scale[i] + Vec3f(1, 1, 1) * std::log(kChildScale);
    }
  }

  const DensityInput& in_;
  const TrainOptions& options_;
  bool may_grow_;
  Ranks& ranks_;
  float least_logit_, clone_log_scale_, prune_log_scale_;
};

}  // namespace

DensityPlan plan_adc(const DensityInput& input, const TrainOptions& options, float extent, bool prune_large,
                     bool may_grow, Random& random, Ranks& ranks) {
  return Planner(input, options, extent, prune_large, may_grow, ranks).plan(random);
}

void reset_opacities(Backend& backend, const TrainOptions& options, DeviceGaussians& gaussians,
                     AdamMoments& moments) {
  std::vector<float> logits = gaussians.logit_opacity.download(backend);
  const float most = M::logit(options.reset_opacity);
  for (float& v : logits) v = std::min(v, most);
  gaussians.logit_opacity.upload(backend, logits);
  moments.logit_opacity.resize_zero(backend, logits.size());
}

}  // namespace stipple
