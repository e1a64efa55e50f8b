// SPDX-License-Identifier: Apache-2.0
#include "stipple/compress/compress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/edit/select.h"
#include "stipple/edit/sh_degree.h"

namespace stipple {

namespace {

constexpr double kFull = 0.98;            // a file of this share of the allowed bytes needs no further trial
constexpr int kMaxSizeTrials = 8;         // storing a large model takes seconds
constexpr std::size_t kCountSteps = 128;  // the count for a wanted quality is found to 1/128 of all Gaussians
// For a wanted quality: the number of sizes that are tried, and the ratio of sizes at which that ends early.
constexpr int kMaxSizes = 6;
constexpr double kCloseSizes = 1.1;

// A version of the model: its most important Gaussians, with harmonics up to some degree.
struct Draft {
  int degree = 0;
  std::size_t count = 0;
  Gaussians model;
  CompressTools::Stored stored;
  double quality = 0, untuned = 0;  // of the stored model, and before it was tuned
};

class Compression {
 public:
  Compression(const Gaussians& full, std::span<const std::uint32_t> by_effect, const CompressTools& tools)
      : full_(full), by_effect_(by_effect), tools_(tools) {
    // What a single Gaussian tells of the format: some have no harmonics, and no file is smaller.
    const CompressTools::Stored one = tools_.store(select(full_, rows(1)));
    highest_degree_ = one.model.sh_degree;
    least_bytes_ = highest_degree_ == 0 ? one.bytes : tools_.store(make(0, 1).model).bytes;
  }

  Compressed for_bytes(std::uint64_t max_bytes) {
    if (least_bytes_ > max_bytes)
      throw Error(fmt::format(
          "the goal of {} bytes is too small: a file of this format with a single Gaussian has {}", max_bytes,
          least_bytes_));
    return finish(*best_within(max_bytes, 0, highest_degree_));
  }

  Compressed for_quality(double least) {
    std::optional<Draft> best;
    double highest = 0;
    for (int degree = highest_degree_; degree >= 0; --degree) {
      Draft draft = smallest_with(degree, least);
      highest = std::max(highest, draft.quality);
      if (draft.quality >= least && (!best || draft.stored.bytes < best->stored.bytes))
        best = std::move(draft);
    }
    if (!best)
      throw Error(
          fmt::format("the goal of {:.2f} dB cannot be reached: the whole model has {:.2f} dB in this format",
                      least, highest));
    if (tools_.tune) shrink(*best, least);
    return finish(*std::move(best));
  }

 private:
  void note(const std::string& text) const {
    if (tools_.note) tools_.note(text);
  }

  // The rows of the most important Gaussians, in the order of the full model: neighbours in a file should be
  // neighbours in space.
  std::vector<std::uint32_t> rows(std::size_t count) const {
    std::vector<std::uint32_t> kept(by_effect_.begin(),
                                    by_effect_.begin() + static_cast<std::ptrdiff_t>(count));
    std::sort(kept.begin(), kept.end());
    return kept;
  }

  Draft make(int degree, std::size_t count) const {
    Draft draft{degree, count, select(full_, rows(count)), {}, 0, 0};
    set_sh_degree(draft.model, degree);
    return draft;
  }

  void store(Draft& draft) const {
    draft.stored = tools_.store(draft.model);
    note(fmt::format("{} Gaussians of degree {}: {} bytes", draft.count, draft.degree, draft.stored.bytes));
  }

  // The draft of this degree with the most Gaussians whose file is small enough.
  std::optional<Draft> largest_within(int degree, std::uint64_t max_bytes) const {
    std::optional<Draft> best;
    std::size_t fits = 0, too_many = full_.size() + 1;
    std::size_t count = full_.size();
    for (int trial = 0; trial < kMaxSizeTrials || !best; ++trial) {
      Draft draft = make(degree, count);
      store(draft);
      const double share = static_cast<double>(draft.stored.bytes) / static_cast<double>(max_bytes);
      (share <= 1 ? fits : too_many) = count;
      if (share <= 1) best = std::move(draft);
      if (too_many - fits <= 1 || (share <= 1 && share >= kFull)) break;
      // The size is nearly proportional to the count, but for what a file holds besides.
      const auto guess = static_cast<std::size_t>(static_cast<double>(count) / share * (1 + kFull) / 2);
      count = std::clamp(guess, fits + 1, too_many - 1);
    }
    return best;
  }

  // The best draft of these degrees whose file is small enough, tuned; nothing if no file is. How good a
  // draft is before it is tuned says little about what it becomes, so all are tuned.
  std::optional<Draft> best_within(std::uint64_t max_bytes, int lowest_degree, int highest_degree) const {
    std::optional<Draft> best;
    for (int degree = highest_degree; degree >= lowest_degree; --degree) {
      std::optional<Draft> draft = largest_within(degree, max_bytes);
      if (!draft) continue;
      draft->quality = draft->untuned = rated(*draft);
      const bool is_whole = draft->count == full_.size();
      if (tools_.tune) tune(*draft, max_bytes);
      if (!best || draft->quality > best->quality) best = std::move(draft);
      if (is_whole) break;  // with a lower degree, the file would be smaller and the model worse
    }
    return best;
  }

  // Rates the stored model, which is not needed any more.
  double rated(Draft& draft) const {
    const double quality = tools_.quality(draft.stored.model);
    draft.stored.model = {};
    note(fmt::format("{} Gaussians of degree {}: {:.2f} dB", draft.count, draft.degree, quality));
    return quality;
  }

  // The smallest draft of this degree with this quality, or the largest one if none has it.
  Draft smallest_with(int degree, double least) const {
    Draft draft = make(degree, count_with(degree, least));
    for (;;) {  // what the format costs is made up for by more Gaussians
      store(draft);
      draft.quality = draft.untuned = rated(draft);
      if (draft.quality >= least || draft.count == full_.size()) return draft;
      draft = make(degree, std::min(full_.size(), draft.count + draft.count / 8 + 1));
    }
  }

  // Without the format's quantisation, which would take too long to apply in every step.
  std::size_t count_with(int degree, double least) const {
    const std::size_t step = std::max<std::size_t>(1, full_.size() / kCountSteps);
    std::size_t bad = 0, good = full_.size();
    while (good - bad > step) {
      const std::size_t middle = (bad + good) / 2;
      (tools_.quality(make(degree, middle).model) >= least ? good : bad) = middle;
    }
    return good;
  }

  // Trains a draft, and keeps what it was if that is better: training fits the photos that are trained on,
  // and not those that count; and its values may be harder to store, so that more Gaussians have to go.
  void tune(Draft& draft, std::uint64_t max_bytes) const {
    note(fmt::format("tuning {} Gaussians of degree {} on the photos", draft.count, draft.degree));
    Draft tuned = draft;
    tuned.model = tools_.tune(draft.model);
    assert(tuned.model.size() == draft.count);
    store(tuned);
    if (!fit(tuned, max_bytes)) return;
    tuned.quality = rated(tuned);
    if (tuned.quality > draft.quality) draft = std::move(tuned);
  }

  // Removes the least important Gaussians until the file is small enough; false if one is already too many.
  bool fit(Draft& draft, std::uint64_t max_bytes) const {
    while (draft.stored.bytes > max_bytes) {
      if (draft.count == 1) return false;
      const double share = static_cast<double>(max_bytes) / static_cast<double>(draft.stored.bytes);
      const auto count = static_cast<std::size_t>(static_cast<double>(draft.count) * share);
      drop(draft, std::clamp<std::size_t>(count, 1, draft.count - 1));
      store(draft);
    }
    return true;
  }

  // Reduces a draft, tuned or not, to its most important Gaussians.
  void drop(Draft& draft, std::size_t count) const {
    const std::vector<std::uint32_t> all = rows(draft.count), kept = rows(count);
    std::vector<std::uint32_t> positions;
    for (std::size_t i = 0, k = 0; i < all.size() && k < kept.size(); ++i)
      if (all[i] == kept[k]) {
        positions.push_back(static_cast<std::uint32_t>(i));
        ++k;
      }
    keep_rows(positions, draft.model);
    draft.count = count;
  }

  // Makes `best`, which was found without tuning, smaller: halves the size while a tuned draft is good
  // enough, and then bisects. The best degree changes little from size to size, so only its neighbours are
  // tried after the first.
  void shrink(Draft& best, double least) const {
    int lowest_degree = 0, highest_degree = highest_degree_;
    std::uint64_t bad = 0, good = best.stored.bytes;
    for (int i = 0; i < kMaxSizes; ++i) {
      if (static_cast<double>(good) <= kCloseSizes * static_cast<double>(bad)) return;
      const auto max_bytes =
          bad == 0
              ? good / 2
              : static_cast<std::uint64_t>(std::sqrt(static_cast<double>(bad) * static_cast<double>(good)));
      std::optional<Draft> draft = best_within(max_bytes, lowest_degree, highest_degree);
      const bool is_good = draft && draft->quality >= least;
      if (draft) {
        lowest_degree = std::max(0, draft->degree - 1);
        highest_degree = std::min(highest_degree_, draft->degree + 1);
      }
      (is_good ? good : bad) = is_good ? draft->stored.bytes : max_bytes;
      if (is_good) best = *std::move(draft);
    }
  }

  static Compressed finish(Draft draft) {
    return {std::move(draft.model), draft.stored.bytes, draft.quality, draft.untuned};
  }

  const Gaussians& full_;
  std::span<const std::uint32_t> by_effect_;
  const CompressTools& tools_;
  int highest_degree_ = 0;  // that the model has and the format can hold
  std::uint64_t least_bytes_ = 0;
};

}  // namespace

Compressed compress(const Gaussians& gaussians, std::span<const std::uint32_t> by_effect,
                    const CompressGoal& goal, const CompressTools& tools) {
  assert(goal.max_bytes.has_value() != goal.min_quality.has_value());
  assert(by_effect.size() == gaussians.size());
  if (gaussians.size() == 0) throw Error("the model is empty: there is nothing to compress");
  Compression compression(gaussians, by_effect, tools);
  return goal.max_bytes ? compression.for_bytes(*goal.max_bytes) : compression.for_quality(*goal.min_quality);
}

}  // namespace stipple
