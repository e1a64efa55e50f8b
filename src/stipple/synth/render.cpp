// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/render.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "stipple/core/parallel.h"
#include "stipple/core/random.h"
#include "stipple/synth/ray_camera.h"
#include "stipple/synth/shade.h"

namespace stipple::synth {

namespace {

constexpr int kRun = 16;                  // consecutive pixels of a row that share their candidates
constexpr std::size_t kFirstSamples = 4;  // per pixel; all 16 are taken only if these differ
constexpr float kContrast = 0.2f;

// The order of the samples: cells x + 4 y of a 4 x 4 grid in a pixel. The first four share no row or column.
constexpr std::array<int, 16> kCells{4, 2, 13, 11, 1, 7, 8, 14, 0, 6, 9, 15, 5, 3, 12, 10};

// The colour times alpha, then alpha.
using Rgba = std::array<float, 4>;

Rgba mean_of(std::span<const Rgba> values) {
  Rgba mean{};
  for (const Rgba& value : values)
    for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += value[c];
  for (float& channel : mean) channel *= 1 / static_cast<float>(values.size());
  return mean;
}

// Whether no channel varies by more than kContrast of its maximum; the darkest tones may vary more.
bool looks_even(std::span<const Rgba> values) {
  for (std::size_t c = 0; c < Rgba().size(); ++c) {
    const auto [low, high] = std::ranges::minmax_element(values, {}, [c](const Rgba& v) { return v[c]; });
    if ((*high)[c] - (*low)[c] > kContrast * ((*high)[c] + 0.1f)) return false;
  }
  return true;
}

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
      std::ranges::copy(pixel_light(candidates, x, y), &image.at(x, y, 0));
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

  Rgba sample(const Candidates& candidates, int x, int y, std::size_t i, Vec2f sun_start) const {
    const auto inside = [](int cell) { return (static_cast<float>(cell) + 0.5f) / 4; };
    const Ray ray = eye_.ray(
        {static_cast<float>(x) + inside(kCells[i] % 4), static_cast<float>(y) + inside(kCells[i] / 4)});
    const Hit hit = first_hit(scene_, candidates, ray);
    if (!is_shown(hit)) return {};
    const Vec3f color = radiance(scene_, ray, hit, {sun_start, static_cast<int>(i) * kSunRays});
    return {color.x, color.y, color.z, 1};
  }

  Rgba pixel_light(const Candidates& candidates, int x, int y) const {
    Random random(static_cast<std::uint64_t>(y), 2 * static_cast<std::uint64_t>(x));  // two numbers per pixel
    const Vec2f sun_start(random.uniform(), random.uniform());
    std::array<Rgba, kCells.size()> samples;
    const auto take = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) samples[i] = sample(candidates, x, y, i, sun_start);
    };
    take(0, kFirstSamples);
    if (looks_even({samples.data(), kFirstSamples})) return mean_of({samples.data(), kFirstSamples});
    take(kFirstSamples, samples.size());
    return mean_of(samples);
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
