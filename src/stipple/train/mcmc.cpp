// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/mcmc.h"

#include <algorithm>
#include <cmath>

#include "stipple/math/math.h"

namespace stipple {

namespace {

using M = Math<float>;

constexpr int kMaxShares = 51;
constexpr float kMostOpaque = 1 - 1e-6f;

float logit(float p) { return std::log(p / (1 - p)); }

// Draws by weight, with replacement.
class Lottery {
 public:
  explicit Lottery(const std::vector<float>& weights) {
    double total = 0;
    for (float w : weights) cumulative_.push_back(total += static_cast<double>(w));
  }
  bool is_empty() const { return cumulative_.empty() || !(cumulative_.back() > 0); }
  std::size_t draw(Random& random) const {
    const double pick = static_cast<double>(random.bits() >> 11) * 0x1p-53 * cumulative_.back();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), pick);
    return std::min(static_cast<std::size_t>(found - cumulative_.begin()), cumulative_.size() - 1);
  }

 private:
  std::vector<double> cumulative_;
};

// Sets a plan's entry to its share of what it had.
void set_share(DensityPlan& plan, std::size_t at, const Share& share, float least_opacity) {
  plan.logit_opacity[at] = logit(std::max(share.opacity, least_opacity));
  plan.log_scale[at] = plan.log_scale[at] + Vec3f(1, 1, 1) * std::log(share.scale_factor);
}

}  // namespace

// With o' = 1 - (1 - o)^(1/n), the scale follows from equal integrals along a line through the middle:
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

DensityPlan plan_mcmc(const DensityInput& input, const TrainOptions& options, Random& random) {
  const std::size_t n = input.mean.size();
  std::vector<float> opacity(n), weight(n);
  std::size_t dead_count = 0;
  for (std::size_t i = 0; i < n; ++i) {
    opacity[i] = M::sigmoid(input.logit_opacity[i]);
    const bool is_dead = !(opacity[i] > options.prune_opacity);
    weight[i] = is_dead ? 0.0f : opacity[i];
    dead_count += is_dead;
  }
  const std::size_t cap = options.max_gaussians > 0 ? options.max_gaussians : n;
  const auto grown =
      static_cast<std::size_t>(std::lround(static_cast<double>(n) * static_cast<double>(options.growth)));
  const std::size_t wanted = std::max(n, std::min(cap, grown));

  const Lottery lottery(weight);
  DensityPlan plan;
  if (lottery.is_empty()) {  // nothing is left to be copied
    for (std::size_t i = 0; i < n; ++i) plan.keep(input, i);
    return plan;
  }
  std::vector<int> shares(n, 1);
  std::vector<std::size_t> drawn(dead_count + wanted - n);
  for (std::size_t& d : drawn) ++shares[d = lottery.draw(random)];
  for (std::size_t i = 0; i < n; ++i) {
    if (weight[i] == 0) continue;
    if (shares[i] == 1)
      plan.keep(input, i);
    else
      plan.add(input, i);  // it changes abruptly: what the optimiser knew of it holds no longer
    if (shares[i] > 1)
      set_share(plan, plan.size() - 1, share_of(opacity[i], shares[i]), options.prune_opacity);
  }
  for (std::size_t i : drawn) {
    plan.add(input, i);
    set_share(plan, plan.size() - 1, share_of(opacity[i], shares[i]), options.prune_opacity);
  }
  return plan;
}

}  // namespace stipple
