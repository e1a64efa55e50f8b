// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/codebook.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace stipple {

namespace {

constexpr std::size_t kEntries = std::tuple_size_v<Codebook>;

// The values are gathered into bins, and entries are chosen for bins. A bin holds at most this share of the
// values, or of their range, whichever is narrower.
constexpr std::size_t kBins = 4096;

struct Sample {
  float value;
  float weight;
};

// Sums over all bins before each one, of values relative to `origin`, so that differences of sums are exact
// enough.
class BinSums {
 public:
  BinSums(const std::vector<Sample>& sorted, double origin) : origin_(origin) {
    const float range = sorted.back().value - sorted.front().value;
    const float width = range / static_cast<float>(kBins);
    const std::size_t most = std::max<std::size_t>(1, sorted.size() / kBins);
    add_sums({});
    for (std::size_t begin = 0; begin < sorted.size();) {
      std::size_t end = begin + 1;
      const float first = sorted[begin].value;
      while (end < sorted.size() && (sorted[end].value == sorted[end - 1].value ||
                                     (end - begin < most && sorted[end].value - first < width)))
        ++end;
      Sums sums = sums_.back();
      for (std::size_t i = begin; i < end; ++i) {
        const double x = sorted[i].value - origin_, w = sorted[i].weight;
        sums.weight += w;
        sums.value += w * x;
        sums.square += w * x * x;
      }
      add_sums(sums);
      begin = end;
    }
  }

  std::size_t count() const { return sums_.size() - 1; }

  // The squared error of rounding the bins [begin, end) to their mean, and the mean.
  double error(std::size_t begin, std::size_t end) const {
    const double weight = sums_[end].weight - sums_[begin].weight;
    const double value = sums_[end].value - sums_[begin].value;
    const double square = sums_[end].square - sums_[begin].square;
    return weight > 0 ? std::max(0.0, square - value * value / weight) : 0;
  }
  float mean(std::size_t begin, std::size_t end) const {
    const double weight = sums_[end].weight - sums_[begin].weight;
    return static_cast<float>(origin_ + (weight > 0 ? (sums_[end].value - sums_[begin].value) / weight : 0));
  }

 private:
  struct Sums {
    double weight = 0, value = 0, square = 0;
  };
  void add_sums(const Sums& sums) { sums_.push_back(sums); }

  double origin_;
  std::vector<Sums> sums_;
};

// Splits bins into kEntries ranges with the smallest sum of errors, by dynamic programming over the number of
// ranges. The best start of the last range grows with its end, so each row is found by halving (Wu, "Optimal
// quantization by matrix searching", 1991).
class RangeSearch {
 public:
  explicit RangeSearch(const BinSums& bins) : bins_(bins), best_(bins.count() + 1), next_(best_.size()) {}

  // Returns the first bin of each range, and the number of bins.
  std::vector<std::size_t> find() {
    const std::size_t n = bins_.count();
    std::vector<std::vector<std::uint16_t>> starts(kEntries, std::vector<std::uint16_t>(n + 1));
    for (std::size_t end = 0; end <= n; ++end) best_[end] = bins_.error(0, end);
    for (std::size_t row = 1; row < kEntries; ++row) {
      fill_row(starts[row], row, row + 1, n, row, n - 1);
      std::swap(best_, next_);
    }
    std::vector<std::size_t> edges(kEntries + 1, n);
    for (std::size_t row = kEntries; row-- > 0;) edges[row] = row == 0 ? 0 : starts[row][edges[row + 1]];
    return edges;
  }

 private:
  // Fills next_ for ends in [low, high], whose last range starts in [first, last]. `row` ranges precede it.
  void fill_row(std::vector<std::uint16_t>& start, std::size_t row, std::size_t low, std::size_t high,
                std::size_t first, std::size_t last) {
    if (low > high) return;
    const std::size_t end = low + (high - low) / 2;
    double least = std::numeric_limits<double>::infinity();
    std::size_t at = first;
    for (std::size_t s = std::max(first, row); s <= std::min(last, end - 1); ++s) {
      const double error = best_[s] + bins_.error(s, end);
      if (error < least) least = error, at = s;
    }
    next_[end] = least;
    start[end] = static_cast<std::uint16_t>(at);
    if (end > low) fill_row(start, row, low, end - 1, first, at);
    fill_row(start, row, end + 1, high, at, last);
  }

  const BinSums& bins_;
  std::vector<double> best_, next_;
};

std::vector<Sample> sorted_samples(std::span<const float> values, std::span<const float> weights) {
  std::vector<Sample> samples(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    samples[i] = {values[i] + 0.0f, weights.empty() ? 1.0f : weights[i]};  // -0 becomes 0
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.value < b.value; });
  return samples;
}

// All distinct values; none if there are more than entries.
std::vector<float> few_distinct(const std::vector<Sample>& sorted) {
  std::vector<float> distinct;
  for (const Sample& sample : sorted) {
    if (!distinct.empty() && distinct.back() == sample.value) continue;
    if (distinct.size() == kEntries) return {};
    distinct.push_back(sample.value);
  }
  return distinct;
}

}  // namespace

Codebook make_codebook(std::span<const float> values, std::span<const float> weights) {
  Codebook codebook{};
  if (values.empty()) return codebook;
  const std::vector<Sample> sorted = sorted_samples(values, weights);
  const std::vector<float> distinct = few_distinct(sorted);
  if (!distinct.empty()) {
    codebook.fill(distinct.back());
    std::copy(distinct.begin(), distinct.end(), codebook.begin());
    return codebook;
  }
  const BinSums bins(sorted, sorted[sorted.size() / 2].value);
  if (bins.count() < kEntries) {  // most values are equal, and the others very close to each other
    codebook.fill(bins.mean(bins.count() - 1, bins.count()));
    for (std::size_t i = 0; i < bins.count(); ++i) codebook[i] = bins.mean(i, i + 1);
  } else {
    const std::vector<std::size_t> edges = RangeSearch(bins).find();
    for (std::size_t i = 0; i < kEntries; ++i) codebook[i] = bins.mean(edges[i], edges[i + 1]);
  }
  std::sort(codebook.begin(), codebook.end());
  return codebook;
}

std::uint8_t nearest_entry(const Codebook& codebook, float value) {
  const auto above = std::lower_bound(codebook.begin(), codebook.end(), value);
  if (above == codebook.begin()) return 0;
  if (above == codebook.end() || value - *(above - 1) <= *above - value) {
    const float below = *(above - 1);  // the first of equal entries
    return static_cast<std::uint8_t>(std::lower_bound(codebook.begin(), above, below) - codebook.begin());
  }
  return static_cast<std::uint8_t>(above - codebook.begin());
}

}  // namespace stipple
