// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/cluster_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "stipple/core/parallel.h"
#include "stipple/model/sog/nearest_row.h"

namespace stipple {

namespace {

constexpr std::size_t kChunk = 1536;                // rows that one thread compares at a time
constexpr std::size_t kMostTrained = 1 << 20;       // rows from which clusters are chosen
constexpr std::size_t kMostBranchSample = 1 << 15;  // rows from which branches are chosen
constexpr int kBranchRounds = 8;
constexpr int kClusterRounds = 5;
constexpr int kPolishRounds = 2;
constexpr std::size_t kNearBranches = 4;  // whose clusters a row is compared with

using Indices = std::vector<std::uint32_t>;

std::vector<Nearest> nearest_centers(const RowView& rows, const Indices& chosen, const RowTable& table) {
  std::vector<Nearest> nearest(chosen.size());
  parallel_chunks(chosen.size(), kChunk, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::vector<const float*> pointers(end - begin);
    for (std::size_t i = begin; i < end; ++i) pointers[i - begin] = rows.row(chosen[i]);
    find_nearest(table, pointers, &nearest[begin]);
  });
  return nearest;
}

// Members of groups, one group after the other, each in ascending order.
struct Grouping {
  Grouping(std::size_t group_count, std::size_t member_count)
      : begin(group_count + 1), members(member_count) {}

  std::span<const std::uint32_t> of(std::size_t group) const {
    return {members.data() + begin[group], begin[group + 1] - begin[group]};
  }

  std::vector<std::size_t> begin;
  Indices members;
};

template <class GroupOf>
Grouping group_by(std::size_t member_count, std::size_t group_count, const GroupOf& group_of) {
  Grouping grouping(group_count, member_count);
  for (std::size_t i = 0; i < member_count; ++i) ++grouping.begin[group_of(i) + 1];
  std::partial_sum(grouping.begin.begin(), grouping.begin.end(), grouping.begin.begin());
  std::vector<std::size_t> next(grouping.begin.begin(), grouping.begin.end() - 1);
  for (std::size_t i = 0; i < member_count; ++i)
    grouping.members[next[group_of(i)]++] = static_cast<std::uint32_t>(i);
  return grouping;
}

// Moves each centre to the mean of its rows. One without rows stays.
template <class RowOf>
void move_center(std::span<const std::uint32_t> members, std::size_t dimensions, const RowOf& row_of,
                 float* center) {
  if (members.empty()) return;
  std::vector<double> sum(dimensions);
  for (const std::uint32_t member : members) {
    const float* row = row_of(member);
    for (std::size_t k = 0; k < dimensions; ++k) sum[k] += row[k];
  }
  for (std::size_t k = 0; k < dimensions; ++k)
    center[k] = static_cast<float>(sum[k] / static_cast<double>(members.size()));
}

// Half the squared distance of each row to its centre.
std::vector<float> errors_of(const RowView& rows, const Indices& chosen,
                             const std::vector<Nearest>& nearest) {
  std::vector<float> errors(chosen.size());
  parallel_chunks(chosen.size(), kChunk, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float* row = rows.row(chosen[i]);
      float norm2 = 0;
      for (std::size_t k = 0; k < rows.dimensions; ++k) norm2 += row[k] * row[k];
      errors[i] = std::max(0.0f, nearest[i].score + norm2 / 2);
    }
  });
  return errors;
}

// Lloyd's algorithm on the chosen rows, starting from evenly spaced ones. A centre that has lost its rows
// moves to one of the rows that are farthest from theirs.
std::vector<float> find_centers(const RowView& rows, const Indices& chosen, std::size_t count, int rounds) {
  const std::size_t dimensions = rows.dimensions;
  std::vector<float> centers(count * dimensions);
  for (std::size_t c = 0; c < count; ++c)
    std::copy_n(rows.row(chosen[(2 * c + 1) * chosen.size() / (2 * count)]), dimensions,
                &centers[c * dimensions]);
  for (int round = 0; round < rounds; ++round) {
    const std::vector<Nearest> nearest =
        nearest_centers(rows, chosen, RowTable(centers.data(), count, dimensions));
    const Grouping grouping = group_by(chosen.size(), count, [&](std::size_t i) { return nearest[i].row; });
    parallel_for(
        count,
        [&](std::size_t c) {
          move_center(
              grouping.of(c), dimensions, [&](std::uint32_t i) { return rows.row(chosen[i]); },
              &centers[c * dimensions]);
        },
        64);
    std::vector<std::size_t> lost;
    for (std::size_t c = 0; c < count; ++c)
      if (grouping.of(c).empty()) lost.push_back(c);
    if (lost.empty() || round + 1 == rounds) continue;
    const std::vector<float> errors = errors_of(rows, chosen, nearest);
    Indices far(chosen.size());
    std::iota(far.begin(), far.end(), 0u);
    std::partial_sort(far.begin(), far.begin() + static_cast<std::ptrdiff_t>(lost.size()), far.end(),
                      [&](std::uint32_t a, std::uint32_t b) {
                        return errors[a] != errors[b] ? errors[a] > errors[b] : a < b;
                      });
    for (std::size_t i = 0; i < lost.size(); ++i)
      std::copy_n(rows.row(chosen[far[i]]), dimensions, &centers[lost[i] * dimensions]);
  }
  return centers;
}

Indices evenly_spaced(std::size_t count, std::size_t most) {
  Indices chosen(std::min(count, most));
  for (std::size_t i = 0; i < chosen.size(); ++i)
    chosen[i] = static_cast<std::uint32_t>((2 * i + 1) * count / (2 * chosen.size()));
  return chosen;
}

// How many clusters each branch gets. For rows that fill a space of d dimensions evenly, shares of the errors
// to the power d / (d + 2) give the smallest sum of errors; harmonics have about 8 dimensions that matter.
std::vector<std::size_t> share_out(const std::vector<double>& errors, const Grouping& branches,
                                   std::size_t count) {
  constexpr double kPower = 0.8;
  const std::size_t n = errors.size();
  std::vector<double> wanted(n);
  for (std::size_t b = 0; b < n; ++b) wanted[b] = std::pow(errors[b], kPower);
  std::vector<std::size_t> shares(n, 1);
  for (std::size_t b = 0; b < n; ++b) shares[b] = std::min<std::size_t>(1, branches.of(b).size());
  // What branches with few rows cannot use is shared out among the others.
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    double total = 0;
    for (std::size_t b = 0; b < n; ++b)
      if (shares[b] < branches.of(b).size()) total += wanted[b];
    const std::size_t used = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
    if (!(total > 0) || used >= count) break;
    for (std::size_t b = 0; b < n; ++b) {
      const auto more = static_cast<std::size_t>(wanted[b] / total * static_cast<double>(count - used));
      shares[b] = std::min(branches.of(b).size(), shares[b] + more);
    }
  }
  return shares;
}

// A search tree of two levels.
struct Tree {
  std::vector<float> branch_centers;
  std::vector<float> centers;
  std::vector<std::size_t> begin;  // the first centre of each branch, and the number of all
};

Tree grow(const RowView& rows, std::size_t count) {
  const std::size_t dimensions = rows.dimensions;
  const Indices trained = evenly_spaced(rows.count, kMostTrained);
  const auto wanted = static_cast<std::size_t>(std::sqrt(static_cast<double>(count)));
  Indices sample = evenly_spaced(trained.size(), kMostBranchSample);
  for (std::uint32_t& i : sample) i = trained[i];
  Tree tree;
  tree.branch_centers = find_centers(rows, sample, std::min(wanted, sample.size()), kBranchRounds);
  const std::size_t branch_count = tree.branch_centers.size() / dimensions;

  const std::vector<Nearest> nearest =
      nearest_centers(rows, trained, RowTable(tree.branch_centers.data(), branch_count, dimensions));
  const Grouping branches =
      group_by(trained.size(), branch_count, [&](std::size_t i) { return nearest[i].row; });
  const std::vector<float> errors = errors_of(rows, trained, nearest);
  std::vector<double> branch_errors(branch_count);
  for (std::size_t i = 0; i < trained.size(); ++i) branch_errors[nearest[i].row] += errors[i];

  const std::vector<std::size_t> shares = share_out(branch_errors, branches, count);
  std::vector<std::vector<float>> found(branch_count);
  parallel_for(branch_count, [&](std::size_t b) {
    Indices members;
    for (const std::uint32_t i : branches.of(b)) members.push_back(trained[i]);
    if (!members.empty()) found[b] = find_centers(rows, members, shares[b], kClusterRounds);
  });
  tree.begin.push_back(0);
  for (const std::vector<float>& centers : found) {
    tree.centers.insert(tree.centers.end(), centers.begin(), centers.end());
    tree.begin.push_back(tree.centers.size() / dimensions);
  }
  return tree;
}

// The indices of the least values, in ascending order of the values.
void keep_least(const std::vector<float>& values, std::span<std::uint16_t> least) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (kept == least.size() && !(values[i] < values[least[kept - 1]])) continue;
    std::size_t at = kept < least.size() ? kept++ : kept - 1;
    for (; at > 0 && values[i] < values[least[at - 1]]; --at) least[at] = least[at - 1];
    least[at] = static_cast<std::uint16_t>(i);
  }
}

// The nearest branches of each row, [row][rank].
std::vector<std::uint16_t> near_branches(const RowView& rows, const Tree& tree, std::size_t near) {
  const RowTable table(tree.branch_centers.data(), tree.begin.size() - 1, rows.dimensions);
  std::vector<std::uint16_t> result(rows.count * near);
  parallel_chunks(rows.count, kChunk, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::vector<float> scores(table.groups * RowTable::kWide);
    for (std::size_t i = begin; i < end; ++i) {
      find_scores(table, rows.row(i), scores.data());
      keep_least(scores, {&result[i * near], near});
    }
  });
  return result;
}

// Assigns each row to the nearest centre of its near branches.
std::vector<std::uint32_t> assign(const RowView& rows, const Tree& tree,
                                  const std::vector<std::uint16_t>& branches, std::size_t near) {
  const std::size_t branch_count = tree.begin.size() - 1, dimensions = rows.dimensions;
  std::vector<Nearest> best(rows.count, Nearest{0, std::numeric_limits<float>::infinity()});
  for (std::size_t rank = 0; rank < near; ++rank) {
    const Grouping grouping =
        group_by(rows.count, branch_count, [&](std::size_t i) { return branches[i * near + rank]; });
    parallel_for(branch_count, [&](std::size_t b) {
      const std::size_t first = tree.begin[b], center_count = tree.begin[b + 1] - first;
      if (center_count == 0) return;
      const RowTable table(&tree.centers[first * dimensions], center_count, dimensions);
      const std::span<const std::uint32_t> members = grouping.of(b);
      parallel_chunks(members.size(), kChunk, [&](std::size_t, std::size_t begin, std::size_t end) {
        std::vector<const float*> pointers(end - begin);
        std::vector<Nearest> found(end - begin);
        for (std::size_t i = begin; i < end; ++i) pointers[i - begin] = rows.row(members[i]);
        find_nearest(table, pointers, found.data());
        for (std::size_t i = begin; i < end; ++i) {
          const Nearest n{static_cast<std::uint32_t>(first) + found[i - begin].row, found[i - begin].score};
          if (n.score < best[members[i]].score) best[members[i]] = n;
        }
      });
    });
  }
  std::vector<std::uint32_t> labels(rows.count);
  for (std::size_t i = 0; i < rows.count; ++i) labels[i] = best[i].row;
  return labels;
}

// If there are at most `count` distinct rows, each of them is a cluster, by first occurrence.
bool keep_distinct(const RowView& rows, std::size_t count, Clusters& clusters) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (std::size_t i = 0; i < rows.count; ++i) {
    const std::string_view bytes(reinterpret_cast<const char*>(rows.row(i)), rows.dimensions * sizeof(float));
    const auto [at, is_new] = known.try_emplace(bytes, static_cast<std::uint32_t>(known.size()));
    if (is_new && known.size() > count) return false;
    clusters.labels.push_back(at->second);
    if (is_new) clusters.centers.insert(clusters.centers.end(), rows.row(i), rows.row(i) + rows.dimensions);
  }
  return true;
}

}  // namespace

Clusters cluster_rows(const RowView& rows, std::size_t count) {
  Clusters clusters;
  if (keep_distinct(rows, count, clusters)) return clusters;
  Tree tree = grow(rows, count);
  const std::size_t near = std::min(kNearBranches, tree.begin.size() - 1);
  const std::vector<std::uint16_t> branches = near_branches(rows, tree, near);
  for (int round = 0; round < kPolishRounds; ++round) {
    clusters.labels = assign(rows, tree, branches, near);
    const Grouping grouping =
        group_by(rows.count, tree.begin.back(), [&](std::size_t i) { return clusters.labels[i]; });
    parallel_for(
        tree.begin.back(),
        [&](std::size_t c) {
          move_center(
              grouping.of(c), rows.dimensions, [&](std::uint32_t i) { return rows.row(i); },
              &tree.centers[c * rows.dimensions]);
        },
        64);
  }
  clusters.centers = std::move(tree.centers);
  return clusters;
}

}  // namespace stipple
