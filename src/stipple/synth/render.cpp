// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>

#include "stipple/core/parallel.h"
#include "stipple/core/random.h"
#include "stipple/synth/ray_camera.h"
#include "stipple/synth/shade.h"
#include "stipple/synth/synth.h"

namespace stipple {

namespace synth {
namespace {

constexpr int kRun = 16;          // consecutive pixels of a row that share their candidates
constexpr int kFirstSamples = 4;  // per pixel; all 16 are taken only if these differ
constexpr float kContrast = 0.2f;

// The order of the samples: cells x + 4 y of a 4 x 4 grid in a pixel. The first four share no row or column.
constexpr std::array<int, 16> kCells{4, 2, 13, 11, 1, 7, 8, 14, 0, 6, 9, 15, 5, 3, 12, 10};

// Whether no channel varies by more than kContrast of its maximum; the darkest tones may vary more.
bool looks_even(const std::array<Vec3f, kFirstSamples>& values) {
  for (int c = 0; c < 3; ++c) {
    const auto [low, high] = std::ranges::minmax_element(values, {}, [c](Vec3f v) { return v[c]; });
    if ((*high)[c] - (*low)[c] > kContrast * ((*high)[c] + 0.1f)) return false;
  }
  return true;
}

class Renderer {
 public:
  Renderer(const Camera& camera, std::uint64_t seed)
      : eye_(camera), scene_(make_still_life(seed)), width_px_(camera.width_px) {}

  void render_row(int y, std::uint8_t* rgb, float* depth) const {
    for (int begin = 0; begin < width_px_; begin += kRun) {
      const int end = std::min(begin + kRun, width_px_);
      const Candidates candidates(scene_, cone(begin, end, y));
      for (int x = begin; x < end; ++x) {
        rgb = std::ranges::copy(develop(pixel_radiance(candidates, x, y)), rgb).out;
        *depth++ = pixel_depth(candidates, x, y);
      }
    }
  }

 private:
  // Contains all rays through the pixels [begin, end) of a row.
  Cone cone(int begin, int end, int y) const {
    const auto left = static_cast<float>(begin), right = static_cast<float>(end), top = static_cast<float>(y);
    const Ray middle = eye_.ray({(left + right) / 2, top + 0.5f});
    float sine = 0;
    for (Vec2f corner : {Vec2f(left, top), Vec2f(right, top), Vec2f(left, top + 1), Vec2f(right, top + 1)})
      sine = std::max(sine, length(cross(middle.direction, eye_.ray(corner).direction)));
    return {middle.origin, middle.direction, sine, std::sqrt(1 - sine * sine)};
  }

  float pixel_depth(const Candidates& candidates, int x, int y) const {
    const Ray ray = eye_.ray({static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f});
    const Hit hit = first_hit(scene_, candidates, ray);
    return hit.object == &scene_.dome ? 0 : eye_.depth(ray, hit.distance);
  }

  Vec3f sample(const Candidates& candidates, int x, int y, std::size_t i, Vec2f sun_start) const {
    const auto inside = [](int cell) { return (static_cast<float>(cell) + 0.5f) / 4; };
    const Ray ray = eye_.ray(
        {static_cast<float>(x) + inside(kCells[i] % 4), static_cast<float>(y) + inside(kCells[i] / 4)});
    return radiance(scene_, ray, first_hit(scene_, candidates, ray),
                    {sun_start, static_cast<int>(i) * kSunRays});
  }

  Vec3f pixel_radiance(const Candidates& candidates, int x, int y) const {
    Random random(static_cast<std::uint64_t>(y), 2 * static_cast<std::uint64_t>(x));  // two numbers per pixel
    const Vec2f sun_start(random.uniform(), random.uniform());
    std::array<Vec3f, kFirstSamples> first;
    for (std::size_t i = 0; i < first.size(); ++i) first[i] = sample(candidates, x, y, i, sun_start);
    Vec3f sum = std::accumulate(first.begin(), first.end(), Vec3f(0, 0, 0));
    if (looks_even(first)) return sum * (1.0f / kFirstSamples);
    for (std::size_t i = first.size(); i < kCells.size(); ++i)
      sum = sum + sample(candidates, x, y, i, sun_start);
    return sum * (1.0f / kCells.size());
  }

  RayCamera eye_;
  StillLife scene_;
  int width_px_;
};

}  // namespace
}  // namespace synth

SynthPicture synth_render(const Camera& camera, std::uint64_t seed) {
  const synth::Renderer renderer(camera, seed);
  SynthPicture picture;
  picture.photo.width_px = camera.width_px;
  picture.photo.height_px = camera.height_px;
  picture.photo.rgb.resize(3 * picture.photo.pixel_count());
  picture.depth.resize(picture.photo.pixel_count());
  parallel_for(static_cast<std::size_t>(camera.height_px), [&](std::size_t y) {
    const std::size_t first = y * static_cast<std::size_t>(camera.width_px);
    renderer.render_row(static_cast<int>(y), &picture.photo.rgb[3 * first], &picture.depth[first]);
  });
  return picture;
}

}  // namespace stipple
