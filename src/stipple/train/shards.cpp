// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/shards.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "stipple/backend/backend.h"
#include "stipple/core/curve_order.h"
#include "stipple/core/parallel.h"
#include "stipple/ranks/collectives.h"
#include "stipple/train/density/gather_in_place.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 1 << 14;

// Rows that would sort the keys; empty if they are sorted.
std::vector<std::uint32_t> sorting_rows(const std::vector<std::uint64_t>& keys) {
  if (std::is_sorted(keys.begin(), keys.end())) return {};
  std::vector<std::uint32_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 0u);
  std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  return rows;
}

void reorder(const std::vector<std::uint32_t>& rows, std::vector<std::uint64_t>& keys) {
  if (rows.empty()) return;
  std::vector<std::uint64_t> sorted(keys.size());
  parallel_for(
      rows.size(), [&](std::size_t i) { sorted[i] = keys[rows[i]]; }, kGrain);
  keys = std::move(sorted);
}

// Where every row of this rank goes, and where every row comes from that it gets.
class Journey {
 public:
  Journey(Backend& backend, Ranks& ranks, std::vector<std::uint64_t> keys)
      : backend_(backend), ranks_(ranks), leaving_(sorting_rows(keys)) {
    reorder(leaving_, keys);
    const std::uint64_t total = sum_over_ranks(ranks, keys.size()).total;
    std::vector<std::uint64_t> targets;
    for (int r = 1; r < ranks.count(); ++r) targets.push_back(even_share(total, r, ranks.count()).begin);
    std::size_t begin = 0;
    for (const std::uint64_t cut : cuts_between(ranks, keys, targets)) {
      const auto end =
          static_cast<std::size_t>(std::lower_bound(keys.begin(), keys.end(), cut) - keys.begin());
      to_rank_.push_back({begin, end});
      begin = end;
    }
    to_rank_.push_back({begin, keys.size()});
    arriving_ = sorting_rows(carry(keys, 1));
  }

  // The rows of an array, each of so many elements, on their new ranks and in their new order.
  template <class T>
  void move(int row_elements, DeviceArray<T>& array) const {
    if (!leaving_.empty()) gather(leaving_, row_elements, array);
    array.upload(backend_, carry(array.download(backend_), row_elements));
    if (!arriving_.empty()) gather(arriving_, row_elements, array);
  }

 private:
  template <class T>
  std::vector<T> carry(const std::vector<T>& rows, int row_elements) const {
    const auto n = static_cast<std::size_t>(row_elements);
    std::vector<Ranks::Bytes> to;
    for (const RowRange& part : to_rank_)
      to.push_back(bytes_of_values(std::span(rows).subspan(part.begin * n, part.size() * n)));
    std::vector<T> carried;
    for (const Ranks::Bytes& from : ranks_.all_to_all(std::move(to)))
      append_values(std::span<const std::byte>(from), carried);
    return carried;
  }

  template <class T>
  void gather(const std::vector<std::uint32_t>& rows, int row_elements, DeviceArray<T>& array) const {
    gather_in_place(backend_, array, DeviceArray<std::uint32_t>(backend_, rows), row_elements);
  }

  Backend& backend_;
  Ranks& ranks_;
  std::vector<std::uint32_t> leaving_, arriving_;  // orders before and after the journey; empty: as they are
  std::vector<RowRange> to_rank_;
};

}  // namespace

// Positive floats sort like their bits.
std::uint64_t descending_key(float value, std::size_t index) {
  return std::uint64_t{~std::bit_cast<std::uint32_t>(value)} << 32 | index;
}

RowRange even_share(std::size_t count, int rank, int rank_count) {
  const auto bound = [&](int r) {
    return static_cast<std::size_t>(static_cast<unsigned __int128>(count) * static_cast<unsigned>(r) /
                                    static_cast<unsigned>(rank_count));
  };
  return {bound(rank), bound(rank + 1)};
}

ModelPart part_of(Ranks& ranks, std::size_t own_count) {
  const RankSum count = sum_over_ranks(ranks, own_count);
  return {count.before, count.total};
}

// By bisection: all ranks count their keys below the middles together.
std::vector<std::uint64_t> cuts_between(Ranks& ranks, std::span<const std::uint64_t> keys,
                                        std::span<const std::uint64_t> targets) {
  const std::vector<std::uint64_t> ends = gather_value(ranks, keys.empty() ? 0 : keys.back() + 1);
  const std::uint64_t end = *std::max_element(ends.begin(), ends.end());
  std::vector<std::uint64_t> low(targets.size(), 0), high(targets.size(), end), own(targets.size());
  const auto middle = [&](std::size_t t) { return low[t] + (high[t] - low[t]) / 2; };
  while (!std::equal(low.begin(), low.end(), high.begin())) {
    for (std::size_t t = 0; t < targets.size(); ++t)
      own[t] =
          static_cast<std::uint64_t>(std::lower_bound(keys.begin(), keys.end(), middle(t)) - keys.begin());
    const std::vector<std::uint64_t> below = sum_by_element(ranks, own);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      if (low[t] == high[t]) continue;
      if (below[t] < targets[t])
        low[t] = middle(t) + 1;
      else
        high[t] = middle(t);
    }
  }
  return low;
}

std::vector<std::uint32_t> highest_rows(Ranks& ranks, std::span<const float> values, std::size_t most) {
  const ModelPart part = part_of(ranks, values.size());
  const auto key = [&](std::size_t i) { return descending_key(values[i], part.first + i); };
  std::vector<std::uint64_t> keys(values.size());
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = key(i);
  std::sort(keys.begin(), keys.end());
  const std::uint64_t target = std::min(most, part.total);
  const std::uint64_t cut = cuts_between(ranks, keys, std::span(&target, 1))[0];
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (key(i) < cut) rows.push_back(static_cast<std::uint32_t>(i));
  return rows;
}

std::vector<std::uint64_t> keys_of_order(Ranks& ranks, std::size_t own_count) {
  std::vector<std::uint64_t> keys(own_count);
  std::iota(keys.begin(), keys.end(), sum_over_ranks(ranks, own_count).before);
  return keys;
}

// The box is that of the same samples as in one process.
std::vector<std::uint64_t> keys_along_curve(Ranks& ranks, std::span<const Vec3f> means) {
  const RankSum count = sum_over_ranks(ranks, means.size());
  const std::size_t stride = curve_sample_stride(count.total);
  std::vector<Vec3f> samples;
  for (std::size_t i = (stride - count.before % stride) % stride; i < means.size(); i += stride)
    samples.push_back(means[i]);
  const CurveBox box = curve_box(gather_values(ranks, std::span<const Vec3f>(samples)));
  std::vector<std::uint64_t> keys(means.size());
  parallel_for(
      means.size(),
      [&](std::size_t i) { keys[i] = std::uint64_t{curve_place(means[i], box)} << 32 | (count.before + i); },
      kGrain);
  return keys;
}

void redistribute(Backend& backend, Ranks& ranks, std::vector<std::uint64_t> keys, TrainState& state) {
  const bool has_filter = is_true_on_any(ranks, !state.precomputed.filter_variance.empty());
  const Journey journey(backend, ranks, std::move(keys));
  const auto move = [&](int per_gaussian, auto& array) { journey.move(per_gaussian, array); };
  for_each_parameter(move, state.gaussians);
  for_each_moment(move, state.moments);
  if (has_filter) journey.move(1, state.precomputed.filter_variance);
  state.statistics.resize_zero(backend, state.gaussians.size());
  state.part = part_of(ranks, state.gaussians.size());
}

}  // namespace stipple
