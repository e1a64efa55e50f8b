// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/mcmc.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stipple/core/parallel.h"
#include "stipple/math/math.h"
#include "stipple/ranks/collectives.h"

namespace stipple {

namespace {

using M = Math<float>;

constexpr int kMaxShares = 51;
constexpr std::size_t kMostRelocatedTo = 4;  // a strained Gaussian, on average
constexpr float kMostOpaque = 1 - 1e-6f;
constexpr float kSliceShrink = -0.7f;  // each of n slices is n^kSliceShrink times as long as the original
constexpr std::size_t kGrain = 1 << 14;
constexpr std::uint32_t kNotHere = 0xffffffff;

// Draws Gaussians of the whole model with probabilities proportional to their weights, with replacement. The
// weights are counted in whole units, so that their sums are the same however they are divided among ranks.
class Lottery {
 public:
  Lottery(Ranks& ranks, const std::vector<float>& weights) : cumulative_(weights.size()) {
    std::uint64_t own = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (i % kStride == 0) coarse_.push_back(own);
      cumulative_[i] = own += static_cast<std::uint64_t>(weights[i] * kUnits);
    }
    const RankSum sum = sum_over_ranks(ranks, own);
    before_ = sum.before;
    total_ = sum.total;
  }
  bool is_empty() const { return total_ == 0; }
  // The index in this rank's part; kNotHere if the Gaussian is another rank's.
  std::uint32_t draw(Random& random) const {
    const std::uint64_t drawn = random.below(total_);
    if (drawn < before_ || cumulative_.empty() || drawn - before_ >= cumulative_.back()) return kNotHere;
    const std::uint64_t pick = drawn - before_;
    // The search starts among every kStride-th sum, which stay in the cache.
    const auto after = std::upper_bound(coarse_.begin(), coarse_.end(), pick) - coarse_.begin();
    const auto begin = cumulative_.begin() + (after - 1) * kStride;
    const auto end = after * kStride < std::ssize(cumulative_) ? begin + kStride : cumulative_.end();
    return static_cast<std::uint32_t>(std::upper_bound(begin, end, pick) - cumulative_.begin());
  }

 private:
  static constexpr std::ptrdiff_t kStride = 512;
  static constexpr float kUnits = 0x1p31f;  // of a weight of 1; 2^32 of these fit into 64 bits
  std::vector<std::uint64_t> cumulative_;
  std::vector<std::uint64_t> coarse_;  // the sum of the weights before every kStride-th index
  std::uint64_t before_ = 0, total_ = 0;
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
                      Random& random, Ranks& ranks) {
  const std::size_t n = input.size_of_model();
  const std::vector<float> opacity = opacities_of_the_living(input, options.prune_opacity);
  std::size_t own_strained = 0;
  const Lottery strained(ranks, parent_weights(input, opacity, step.grow_gradient, own_strained)),
      all(ranks, opacity);
  if (all.is_empty())  // every Gaussian is too faint, so that there is none to copy
    return plan_copies(input, std::vector<std::uint32_t>(input.mean.size(), 1), {});
  std::vector<std::uint32_t> shares(input.mean.size());
  std::transform(opacity.begin(), opacity.end(), shares.begin(), [](float o) { return o > 0 ? 1u : 0u; });
  const std::size_t strained_count = sum_over_ranks(ranks, own_strained).total;
  const std::size_t alive =
      sum_over_ranks(ranks, std::accumulate(shares.begin(), shares.end(), std::uint64_t{0})).total;
  const std::size_t after = step.may_grow ? grown(n, strained_count, options) : n;
  // Every rank draws all of them, and copies those of its own.
  std::vector<std::uint32_t> drawn(after - alive);
  // If there are far more faint Gaussians than strained ones, only some of them can be of use there.
  const std::size_t for_strained = after - n + kMostRelocatedTo * strained_count;
  parallel_for(
      drawn.size(),
      [&](std::size_t k) {
        Random own = random;
        own.skip(k);
        const bool is_for_strained = k < for_strained && !strained.is_empty();
        drawn[k] = (is_for_strained ? strained : all).draw(own);
      },
      kGrain);
  random.skip(drawn.size());
  for (const std::uint32_t i : drawn)
    if (i != kNotHere) ++shares[i];

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
