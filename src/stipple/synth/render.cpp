// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/render.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stipple/core/parallel.h"
#include "stipple/synth/adaptive_pixel.h"
#include "stipple/synth/ray_camera.h"
#include "stipple/synth/shade.h"

namespace stipple::synth {

namespace {

constexpr int kRun = 16;  // consecutive pixels of a row that share their candidates

class Renderer {
 public:
  Renderer(const Camera& camera, const StillLife& scene, bool transparent)
      : eye_(camera),
        scene_(scene),
        transparent_(transparent),
        width_px_(camera.width_px),
        height_px_(camera.height_px) {}

  Image light() const {
    Image image(width_px_, height_px_, static_cast<int>(Rgba().size()));
    for_each_pixel([&](const Candidates& candidates, int x, int y) {
      const Rgba light = pixel_light(x, y, [&](Vec2f at_px, Vec2f sun_start, int i) {
        return sample(candidates, eye_.ray(at_px), {sun_start, i * kSunRays});
      });
      std::ranges::copy(light, &image.at(x, y, 0));
    });
    return image;
  }

  std::vector<float> depth() const {
    Image image(width_px_, height_px_, 1);
    for_each_pixel([&](const Candidates& candidates, int x, int y) {
      image.at(x, y, 0) = pixel_depth(candidates, x, y);
    });
    return std::move(image.values);
  }

 private:
  template <class Body>
  void for_each_pixel(const Body& body) const {
    parallel_for(static_cast<std::size_t>(height_px_), [&](std::size_t row) {
      const int y = static_cast<int>(row);
      for (int begin = 0; begin < width_px_; begin += kRun) {
        const int end = std::min(begin + kRun, width_px_);
        const Candidates candidates(scene_, cone(begin, end, y));
        for (int x = begin; x < end; ++x) body(candidates, x, y);
      }
    });
  }

  // Contains all rays through the pixels [begin, end) of a row.
  Cone cone(int begin, int end, int y) const {
    const auto left = static_cast<float>(begin), right = static_cast<float>(end), top = static_cast<float>(y);
    const Ray middle = eye_.ray({(left + right) / 2, top + 0.5f});
    float sine = 0;
    for (Vec2f corner : {Vec2f(left, top), Vec2f(right, top), Vec2f(left, top + 1), Vec2f(right, top + 1)})
      sine = std::max(sine, length(cross(middle.direction, eye_.ray(corner).direction)));
    return {middle.origin, middle.direction, sine, std::sqrt(1 - sine * sine)};
  }

  bool is_shown(const Hit& hit) const {
    return !transparent_ || (hit.object != &scene_.ground && hit.object != &scene_.dome);
  }

  float pixel_depth(const Candidates& candidates, int x, int y) const {
    const Ray ray = eye_.ray({static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f});
    const Hit hit = first_hit(scene_, candidates, ray);
    return hit.object == &scene_.dome || !is_shown(hit) ? 0 : eye_.depth(ray, hit.distance);
  }

  Rgba sample(const Candidates& candidates, const Ray& ray, const SquareSequence& sequence) const {
    const Hit hit = first_hit(scene_, candidates, ray);
    if (!is_shown(hit)) return {};
    const Vec3f color = radiance(scene_, ray, hit, sequence);
    return {color.x, color.y, color.z, 1};
  }

  RayCamera eye_;
  const StillLife& scene_;
  bool transparent_;
  int width_px_, height_px_;
};

}  // namespace

Image render_light(const Camera& camera, const StillLife& scene, bool transparent) {
  return Renderer(camera, scene, transparent).light();
}

std::vector<float> render_depth(const Camera& camera, const StillLife& scene, bool transparent) {
  return Renderer(camera, scene, transparent).depth();
}

}  // namespace stipple::synth
