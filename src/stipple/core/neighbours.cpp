// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/neighbours.h"

#include <cstdint>
#include <nanoflann.hpp>

#include "stipple/core/parallel.h"

namespace stipple {

namespace {

struct Cloud {  // the interface that nanoflann requires
  const std::vector<Vec3f>& points;
  std::size_t kdtree_get_point_count() const { return points.size(); }
  float kdtree_get_pt(std::size_t i, std::size_t axis) const { return points[i][static_cast<int>(axis)]; }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Cloud>, Cloud, 3>;

// Calls take(i, found, indices, squared distances) for every point i, on all cores, with the nearest points,
// the closest first. There is one more than `count`, since the point itself is usually the first.
template <class Take>
void search(const std::vector<Vec3f>& points, std::size_t count, const Take& take) {
  const Cloud cloud{points};
  const Tree tree(3, cloud, nanoflann::KDTreeSingleIndexAdaptorParams(16));
  parallel_ranges(points.size(), 256, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> index(count + 1);
    std::vector<float> distance2(count + 1);
    for (std::size_t i = begin; i < end; ++i) {
      const float query[3] = {points[i].x, points[i].y, points[i].z};
      take(i, tree.knnSearch(query, count + 1, index.data(), distance2.data()), index, distance2);
    }
  });
}

}  // namespace

std::vector<float> neighbour_distances2(const std::vector<Vec3f>& points, std::size_t count) {
  std::vector<float> mean(points.size(), 0);
  search(points, count, [&](std::size_t i, std::size_t found, const auto&, const auto& distance2) {
    float sum = 0;  // the nearest is the point itself, or one at the same position
    for (std::size_t k = 1; k < found; ++k) sum += distance2[k];
    mean[i] = found > 1 ? sum / static_cast<float>(found - 1) : 1.0f;
  });
  return mean;
}

std::vector<std::uint32_t> nearest_neighbours(const std::vector<Vec3f>& points, std::size_t count) {
  std::vector<std::uint32_t> neighbours(points.size() * count, kNoNeighbour);
  search(points, count, [&](std::size_t i, std::size_t found, const auto& index, const auto&) {
    // Where several points coincide, the point itself may be anywhere among them, or not be found.
    for (std::size_t k = 0, rank = 0; k < found && rank < count; ++k)
      if (index[k] != i) neighbours[i * count + rank++] = index[k];
  });
  return neighbours;
}

}  // namespace stipple
