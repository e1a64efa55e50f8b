// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/city/trace.h"

#include <algorithm>
#include <cmath>

namespace stipple::synth::city {

namespace {

struct Interval {
  float begin, end;  // along a ray
};

// The part of the ray between two planes across an axis.
Interval clipped(Interval i, float origin, float direction, float low, float high) {
  if (direction == 0) return low <= origin && origin <= high ? i : Interval{kNever, -kNever};
  const float a = (low - origin) / direction, b = (high - origin) / direction;
  return {std::max(i.begin, std::min(a, b)), std::min(i.end, std::max(a, b))};
}

bool may_hit(const Bounds& bounds, const Ray& ray) {
  Interval i{0, kNever};
  for (int axis = 0; axis < 3; ++axis)
    i = clipped(i, ray.origin[axis], ray.direction[axis], bounds.low[axis], bounds.high[axis]);
  return i.begin <= i.end;
}

// Where a ray leaves the cells of one axis, one after the other.
struct Axis {
  int cell, step;
  float next, gap;  // distances along the ray: to the next border, and between borders

  Axis(float origin, float direction, float at, float half_size, int count) {
    const float inside = (at + half_size) / kBlockSize;
    cell = std::clamp(static_cast<int>(std::floor(inside)), 0, count - 1);
    step = direction > 0 ? 1 : -1;
    const float border = static_cast<float>(cell + (direction > 0)) * kBlockSize - half_size;
    next = direction == 0 ? kNever : (border - origin) / direction;
    gap = direction == 0 ? kNever : kBlockSize / std::abs(direction);
  }

  void advance() {
    cell += step;
    next += gap;
  }
};

}  // namespace

// Calls visit(block, ray in the block's frame) for the blocks that the ray passes below their top, in order,
// until it returns true.
template <class Visit>
void Tracer::walk(const Ray& ray, float end, const Visit& visit) {
  const Vec3f o = ray.origin, d = ray.direction;
  const float half = plan_.half_size();
  Interval inside = clipped({0, end}, o.z, d.z, 0, kTallest);
  inside = clipped(inside, o.x, d.x, -half, half);
  inside = clipped(inside, o.y, d.y, -half, half);
  if (!(inside.begin <= inside.end)) return;
  const Vec3f start = ray.at(inside.begin);
  Axis x(o.x, d.x, start.x, half, plan_.block_count), y(o.y, d.y, start.y, half, plan_.block_count);
  float from = inside.begin;
  while (0 <= x.cell && x.cell < plan_.block_count && 0 <= y.cell && y.cell < plan_.block_count) {
    const Place place{x.cell, y.cell};
    const float to = std::min({x.next, y.next, inside.end});
    const std::shared_ptr<const Block>& block = window_.at(place);
    const float lowest = std::min(o.z + d.z * from, o.z + d.z * to);
    if (lowest <= block->top && visit(block, Ray{o - plan_.middle_of(place), d})) return;
    if (to >= inside.end) return;
    from = to;
    (x.next < y.next ? x : y).advance();
  }
}

Hit Tracer::first_hit(const Ray& ray) {
  Hit hit{kNever};
  walk(ray, kNever, [&hit](const std::shared_ptr<const Block>& block, const Ray& local) {
    for (const Lot& lot : block->lots) {
      if (!may_hit(lot.bounds, local)) continue;
      for (const Part& part : lot.parts)
        if (const float distance = distance_to(part.shape, local); distance < hit.distance) {
          hit.distance = distance;
          hit.part = &part;
        }
    }
    if (hit.part) hit.block = block;
    return hit.part != nullptr;  // all parts are inside the block, so that no later one is nearer
  });
  if (hit.part || ray.direction.z >= 0) return hit;
  const float distance = -ray.origin.z / ray.direction.z;
  const Vec3f at = ray.at(distance);
  if (std::hypot(at.x, at.y) > plan_.dome_radius()) return hit;
  hit.distance = distance;
  const float half = plan_.half_size();
  if (std::max(std::abs(at.x), std::abs(at.y)) < half) {
    const auto cell = [&](float v) {
      return std::clamp(static_cast<int>((v + half) / kBlockSize), 0, plan_.block_count - 1);
    };
    hit.block = window_.at({cell(at.x), cell(at.y)});
  }
  return hit;
}

bool Tracer::is_blocked(const Ray& ray, float before) {
  bool blocked = false;
  walk(ray, before, [&](const std::shared_ptr<const Block>& block, const Ray& local) {
    for (const Lot& lot : block->lots) {
      if (!may_hit(lot.bounds, local)) continue;
      for (const Part& part : lot.parts)
        if (distance_to(part.shape, local) < before) return blocked = true;
    }
    return false;
  });
  return blocked;
}

}  // namespace stipple::synth::city
