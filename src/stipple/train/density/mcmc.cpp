// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/mcmc.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stipple/core/parallel.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

using M = Math<float>;

constexpr int kMaxShares = 51;
constexpr std::size_t kMostRelocatedTo = 4;  // a strained Gaussian, on average
constexpr float kMostOpaque = 1 - 1e-6f;
constexpr float kSliceShrink = -0.7f;  // each of n slices is n^kSliceShrink times as long as the original
constexpr std::size_t kGrain = 1 << 14;

// Draws indices with probabilities proportional to their weights, with replacement.
class Lottery {
 public:
  explicit Lottery(const std::vector<float>& weights) : cumulative_(weights.size()) {
    double total = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (i % kStride == 0) coarse_.push_back(total);
      cumulative_[i] = total += static_cast<double>(weights[i]);
    }
  }
  bool is_empty() const { return cumulative_.empty() || !(cumulative_.back() > 0); }
  std::size_t draw(Random& random) const {
    const double pick = static_cast<double>(random.bits() >> 11) * 0x1p-53 * cumulative_.back();
    // The search starts among every kStride-th sum, which stay in the cache.
    const auto after = std::upper_bound(coarse_.begin(), coarse_.end(), pick) - coarse_.begin();
    const auto begin = cumulative_.begin() + (after - 1) * kStride;
    const auto end = after * kStride < std::ssize(cumulative_) ? begin + kStride : cumulative_.end();
    const auto found = std::upper_bound(begin, end, pick) - cumulative_.begin();
    return std::min(static_cast<std::size_t>(found), cumulative_.size() - 1);
  }

 private:
  static constexpr std::ptrdiff_t kStride = 512;
  std::vector<double> cumulative_;
  std::vector<double> coarse_;  // the sum of the weights before every kStride-th index
};

// The opacities, or 0 for Gaussians that are too faint to stay.
std::vector<float> opacities_of_the_living(const DensityInput& input, float least) {
  std::vector<float> opacity(input.logit_opacity.size());
  parallel_for(
      opacity.size(),
      [&](std::size_t i) {
        const float o = M::sigmoid(input.logit_opacity[i]);
        opacity[i] = o > least ? o : 0.0f;
      },
      kGrain);
  return opacity;
}

// A unit vector in the Gaussian's own frame.
Vec3f longest_axis(Vec3f log_scale) {
  if (log_scale.x >= log_scale.y && log_scale.x >= log_scale.z) return {1, 0, 0};
  return log_scale.y >= log_scale.z ? Vec3f(0, 1, 0) : Vec3f(0, 0, 1);
}

// Whether a Gaussian's gradients say that it cannot represent what it covers.
bool is_strained(const DensityInput& input, std::size_t i, float threshold) {
  const Vec2f s = input.statistics[i];
  return s.y > 0 && s.x / s.y >= threshold;
}

// The opacities of the strained; 0 for the others.
std::vector<float> parent_weights(const DensityInput& input, const std::vector<float>& opacity,
                                  float threshold, std::size_t& strained_count) {
  std::vector<float> weights(opacity.size(), 0);
  strained_count = 0;
  for (std::size_t i = 0; i < opacity.size(); ++i)
    if (opacity[i] > 0 && is_strained(input, i, threshold)) {
      weights[i] = opacity[i];
      ++strained_count;
    }
  return weights;
}

// The number of Gaussians after the refinement: one more for each that is strained, within the limits.
std::size_t grown(std::size_t n, std::size_t strained_count, const TrainOptions& options) {
  const auto by_factor =
      static_cast<std::size_t>(std::lround(static_cast<double>(n) * static_cast<double>(options.growth)));
  const std::size_t wanted = std::min(n + strained_count, by_factor);
  return options.max_gaussians > 0 ? std::max(n, std::min(options.max_gaussians, wanted)) : wanted;
}

// Where the copies of Gaussian i stand in the plan: [first, first + n).
struct Copies {
  std::size_t i, first;
  int n;
};

void place_shares(const DensityInput& input, float opacity, Copies c, DensityPlan& plan) {
  const Share share = share_of(opacity, c.n);
  for (std::size_t at = c.first; at < c.first + static_cast<std::size_t>(c.n); ++at) {
    plan.logit_opacity[at] = M::logit(share.opacity);
    plan.log_scale[at] = input.log_scale[c.i] + Vec3f(1, 1, 1) * std::log(share.scale_factor);
  }
}

void place_slices(const DensityInput& input, float opacity, Copies c, DensityPlan& plan) {
  const Slice slice = slice_of(opacity, c.n);
  const Vec3f log_scale = input.log_scale[c.i];
  const Vec3f axis = longest_axis(log_scale);
  const Vec3f step = M::rotation_from_quaternion(input.rotation[c.i]) * axis *
                     (slice.spacing * std::exp(dot(axis, log_scale)));
  for (int k = 0; k < c.n; ++k) {
    const std::size_t at = c.first + static_cast<std::size_t>(k);
    plan.mean[at] = input.mean[c.i] + step * (static_cast<float>(k) - 0.5f * static_cast<float>(c.n - 1));
    plan.logit_opacity[at] = M::logit(slice.opacity);
    plan.log_scale[at] = log_scale + axis * std::log(slice.scale_factor);
  }
}

}  // namespace

// With the opacity o' = 1 - (1 - o)^(1/n), the scale factor follows from equal integrals along a line through
// the centre:
// o / sum_{i=1..n} sum_{k=0..i-1} binomial(i - 1, k) (-1)^k o'^(k + 1) / sqrt(k + 1).
Share share_of(float opacity, int n) {
  n = std::clamp(n, 1, kMaxShares);
  const double o = std::clamp(static_cast<double>(opacity), 1e-6, static_cast<double>(kMostOpaque));
  const double part = 1 - std::pow(1 - o, 1.0 / n);
  double sum = 0;
  for (int i = 1; i <= n; ++i) {
    double term = part;  // binomial(i - 1, k) (-1)^k part^(k + 1)
    for (int k = 0; k < i; ++k) {
      sum += term / std::sqrt(k + 1.0);
      term *= -part * (i - 1 - k) / (k + 1.0);
    }
  }
  return {static_cast<float>(part), static_cast<float>(o / sum)};
}

// Equally spaced points have the variance spacing^2 (n^2 - 1) / 12.
Slice slice_of(float opacity, int n) {
  const auto count = static_cast<float>(n);
  const float factor = std::pow(count, kSliceShrink);
  return {opacity / (count * factor), factor, std::sqrt(12 * (1 - factor * factor) / (count * count - 1))};
}

DensityPlan plan_mcmc(const DensityInput& input, const TrainOptions& options, const McmcStep& step,
                      Random& random) {
  const std::size_t n = input.mean.size();
  const std::vector<float> opacity = opacities_of_the_living(input, options.prune_opacity);
  std::size_t strained_count = 0;
  const Lottery strained(parent_weights(input, opacity, step.grow_gradient, strained_count)), all(opacity);
  if (all.is_empty())  // every Gaussian is too faint, so that there is none to copy
    return plan_copies(input, std::vector<std::uint32_t>(n, 1), {});
  std::vector<std::uint32_t> shares(n);
  std::transform(opacity.begin(), opacity.end(), shares.begin(), [](float o) { return o > 0 ? 1u : 0u; });
  const std::size_t alive = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
  const std::size_t after = step.may_grow ? grown(n, strained_count, options) : n;
  std::vector<std::uint32_t> drawn(after - alive);
  // If there are far more faint Gaussians than strained ones, only some of them can be of use there.
  const std::size_t for_strained = after - n + kMostRelocatedTo * strained_count;
  parallel_for(
      drawn.size(),
      [&](std::size_t k) {
        Random own = random;
        own.skip(k);
        const bool is_for_strained = k < for_strained && strained_count > 0;
        drawn[k] = static_cast<std::uint32_t>((is_for_strained ? strained : all).draw(own));
      },
      kGrain);
  random.skip(drawn.size());
  for (const std::uint32_t i : drawn) ++shares[i];

  return plan_copies(input, shares, [&](std::size_t i, std::size_t first, DensityPlan& plan) {
    const Copies copies{i, first, static_cast<int>(shares[i])};
    (step.splits ? place_slices : place_shares)(input, opacity[i], copies, plan);
    for (std::size_t at = first; at < first + shares[i]; ++at) {
      plan.moment_source[at] = Backend::kNoRow;  // the optimiser's history no longer applies
      plan.logit_opacity[at] = std::max(plan.logit_opacity[at], M::logit(options.prune_opacity));
    }
  });
}

}  // namespace stipple
