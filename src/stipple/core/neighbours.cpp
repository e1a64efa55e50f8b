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

}  // namespace

std::vector<float> neighbour_distances2(const std::vector<Vec3f>& points, std::size_t count) {
  const Cloud cloud{points};
  const Tree tree(3, cloud, nanoflann::KDTreeSingleIndexAdaptorParams(16));
  std::vector<float> mean(points.size(), 0);
  parallel_ranges(points.size(), 256, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> index(count + 1);
    std::vector<float> distance2(count + 1);
    for (std::size_t i = begin; i < end; ++i) {
      const float query[3] = {points[i].x, points[i].y, points[i].z};
      const std::size_t found = tree.knnSearch(query, count + 1, index.data(), distance2.data());
      float sum = 0;  // the nearest is the point itself, or one at the same position
      for (std::size_t k = 1; k < found; ++k) sum += distance2[k];
      mean[i] = found > 1 ? sum / static_cast<float>(found - 1) : 1.0f;
    }
  });
  return mean;
}

std::vector<std::uint32_t> nearest_neighbours(const std::vector<Vec3f>& points, std::size_t count) {
  const Cloud cloud{points};
  const Tree tree(3, cloud, nanoflann::KDTreeSingleIndexAdaptorParams(16));
  std::vector<std::uint32_t> neighbours(points.size() * count, kNoNeighbour);
  parallel_ranges(points.size(), 256, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> index(count + 1);
    std::vector<float> distance2(count + 1);
    for (std::size_t i = begin; i < end; ++i) {
      const float query[3] = {points[i].x, points[i].y, points[i].z};
      const std::size_t found = tree.knnSearch(query, count + 1, index.data(), distance2.data());
      // Where several points coincide, the point itself may be anywhere among them, or not be found.
      for (std::size_t k = 0, rank = 0; k < found && rank < count; ++k)
        if (index[k] != i) neighbours[i * count + rank++] = index[k];
    }
  });
  return neighbours;
}

}  // namespace stipple
