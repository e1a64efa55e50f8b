// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/chunk_order.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stipple/core/parallel.h"

namespace stipple {

namespace {

struct Member {  // the point beside its index, so that comparisons read memory in order
  Vec3f point;
  std::uint32_t index;
};

struct Range {
  std::size_t begin, end;
};

Vec3f finite(Vec3f p) {
  for (int axis = 0; axis < 3; ++axis)
    if (!std::isfinite(p[axis])) p[axis] = 0;
  return p;
}

int longest_axis(std::span<const Member> members) {
  Vec3f low = members[0].point, high = low;
  for (const Member& member : members)
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], member.point[axis]);
      high[axis] = std::max(high[axis], member.point[axis]);
    }
  const Vec3f size = high - low;
  int longest = 0;
  for (int axis = 1; axis < 3; ++axis)
    if (size[axis] > size[longest]) longest = axis;
  return longest;
}

template <int axis>
void split_along(std::span<Member> members, std::size_t middle) {
  std::nth_element(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(middle), members.end(),
                   [](const Member& a, const Member& b) {
                     const float at_a = a.point[axis], at_b = b.point[axis];
                     return at_a < at_b || (at_a == at_b && a.index < b.index);
                   });
}

// Moves the smaller half of the members to the front and returns where the larger half begins: after a whole
// number of chunks.
std::size_t halve(std::size_t chunk_size, std::span<Member> members) {
  const std::size_t middle = chunk_count(members.size(), chunk_size) / 2 * chunk_size;
  switch (longest_axis(members)) {
    case 0:
      split_along<0>(members, middle);
      break;
    case 1:
      split_along<1>(members, middle);
      break;
    default:
      split_along<2>(members, middle);
  }
  return middle;
}

}  // namespace

std::vector<std::uint32_t> chunk_order(std::span<const Vec3f> points, std::size_t chunk_size) {
  std::vector<Member> all(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) all[i] = {finite(points[i]), static_cast<std::uint32_t>(i)};
  // One level of the tree after another, the ranges of each on all cores.
  std::vector<Range> ranges = {{0, points.size()}};
  while (!ranges.empty()) {
    std::vector<Range> halves(2 * ranges.size(), Range{0, 0});
    parallel_for(ranges.size(), [&](std::size_t i) {
      const auto [begin, end] = ranges[i];
      if (end - begin <= chunk_size) return;
      const std::size_t middle = begin + halve(chunk_size, std::span(all).subspan(begin, end - begin));
      halves[2 * i] = {begin, middle};
      halves[2 * i + 1] = {middle, end};
    });
    std::erase_if(halves, [](const Range& range) { return range.begin == range.end; });
    ranges = std::move(halves);
  }
  std::vector<std::uint32_t> order(points.size());
  parallel_chunks(points.size(), chunk_size, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) order[i] = all[i].index;
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
              order.begin() + static_cast<std::ptrdiff_t>(end));
  });
  return order;
}

}  // namespace stipple
