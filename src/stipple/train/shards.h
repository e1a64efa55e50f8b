// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the Gaussians of a model are divided among ranks: each has consecutive ones, and as many as any other.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stipple/backend/train_step.h"
#include "stipple/ranks/collectives.h"
#include "stipple/ranks/ranks.h"

namespace stipple {

struct RowRange {  // [begin, end)
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};

// The rows of a rank if `count` rows are divided evenly.
RowRange even_share(std::size_t count, int rank, int rank_count);
inline RowRange even_share(std::size_t count, const Ranks& ranks) {
  return even_share(count, ranks.rank(), ranks.count());
}

// The place of a rank's Gaussians, of which it has so many, in the whole model.
ModelPart part_of(Ranks& ranks, std::size_t own_count);

// For each target, the least key below which so many of all ranks' keys lie. The keys are distinct, and
// sorted on every rank.
std::vector<std::uint64_t> cuts_between(Ranks& ranks, std::span<const std::uint64_t> sorted_keys,
                                        std::span<const std::uint64_t> targets);

// A key by which Gaussians are sorted by descending value, then by index. The value is not NaN or negative.
std::uint64_t descending_key(float value, std::size_t index);

// The rows of this rank whose values are among the `most` highest of all ranks, in order. Of equal values,
// those of a lower index in the whole model come first. No value is NaN or negative.
std::vector<std::uint32_t> highest_rows(Ranks& ranks, std::span<const float> values, std::size_t most);

// Keys that keep the order in which the Gaussians are: their indices in the whole model.
std::vector<std::uint64_t> keys_of_order(Ranks& ranks, std::size_t own_count);
// Keys that put the Gaussians of the whole model in the order of curve_order().
std::vector<std::uint64_t> keys_along_curve(Ranks& ranks, std::span<const Vec3f> means);

// Divides rows that lie on the hosts evenly among the ranks, in the order in which they are. Every row has so
// many elements; this rank has values.size() / row_elements of them.
template <class T>
void share_evenly(Ranks& ranks, int row_elements, std::vector<T>& values) {
  if (ranks.count() == 1) return;
  const auto n = static_cast<std::size_t>(row_elements);
  const RankSum count = sum_over_ranks(ranks, values.size() / n);
  const std::size_t first = count.before, end = first + values.size() / n;
  std::vector<Ranks::Bytes> to;
  for (int r = 0; r < ranks.count(); ++r) {
    const RowRange share = even_share(count.total, r, ranks.count());
    const std::size_t from = std::clamp(share.begin, first, end), until = std::clamp(share.end, first, end);
    to.push_back(bytes_of_values(std::span<const T>(values).subspan((from - first) * n, (until - from) * n)));
  }
  values.clear();
  for (const Ranks::Bytes& from : ranks.all_to_all(std::move(to)))
    append_values(std::span<const std::byte>(from), values);
}

// Sorts the Gaussians of all ranks by their keys, which are distinct, and divides them evenly. The statistics
// become zero. If this throws, some arrays have been changed and others have not.
void redistribute(Backend& backend, Ranks& ranks, std::vector<std::uint64_t> keys, TrainState& state);

}  // namespace stipple
