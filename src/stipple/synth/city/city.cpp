// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/city/city.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/synth/adaptive_pixel.h"
#include "stipple/synth/capture.h"
#include "stipple/synth/city/cameras.h"
#include "stipple/synth/city/shade.h"
#include "stipple/synth/develop_picture.h"
#include "stipple/synth/faults.h"
#include "stipple/synth/motion_blur.h"
#include "stipple/synth/random_stream.h"
#include "stipple/synth/ray_camera.h"
#include "stipple/synth/shade.h"

namespace stipple {

namespace {

using namespace synth;
using city::Tracer;

constexpr int kMostBlocks = 256;      // along each side; beyond, positions lack digits
constexpr float kPhotosPerBlock = 4;  // for the default number of blocks
constexpr std::size_t kPointsPerBlock = 1500;
constexpr float kSkyPart = 0.3f;   // of the points on the sky to keep: it has few features
constexpr float kNoise = 0.0005f;  // standard deviation of a point's position, relative to its distance
constexpr std::uint64_t kNumbersPerPoint = 256;  // reserved for each in the random stream; few are needed

int block_count_of(const CityOptions& options) {
  synth::check(options.photos);
  if (options.block_count < 0 || options.block_count > kMostBlocks)
    throw OptionError("blocks",
                      fmt::format("must be from 1 to {}, not {}", kMostBlocks, options.block_count));
  if (options.block_count > 0) return options.block_count;
  const float square = static_cast<float>(options.photos.view_count) / kPhotosPerBlock;
  return std::clamp(static_cast<int>(std::lround(std::sqrt(square))), 2, kMostBlocks);
}

float pixel_angle(const Camera& camera) { return 1 / camera.focal_px.x; }

// A point's colour is the mean of several samples, since each has few rays of light.
Vec3f mean_radiance(Tracer& tracer, const Ray& ray, const city::Hit& hit, float angle, Vec2f start) {
  constexpr int kSamples = 4;
  Vec3f sum(0, 0, 0);
  for (int i = 0; i < kSamples; ++i)
    sum = sum + city::radiance(tracer, ray, hit, angle, {start, i * city::kLightRays});
  return sum * (1.0f / kSamples);
}

}  // namespace

struct City::State {
  SynthOptions photos;
  city::Plan plan;
  city::BlockCache cache;
  std::vector<Camera> cameras;

  State(const CityOptions& options, std::size_t cached_blocks)
      : photos(options.photos),
        plan{options.photos.seed, block_count_of(options)},
        cache(options.photos.seed, cached_blocks),
        cameras(city::place_cameras(plan, photos)) {}

  // Calls body(tracer, x, y) for all pixels.
  template <class Body>
  void for_each_pixel(const Camera& camera, const Body& body) {
    parallel_ranges(static_cast<std::size_t>(camera.height_px), 4, [&](std::size_t begin, std::size_t end) {
      Tracer tracer(plan, cache);
      for (std::size_t y = begin; y < end; ++y)
        for (int x = 0; x < camera.width_px; ++x) body(tracer, x, static_cast<int>(y));
    });
  }

  Image light(const Camera& camera) {
    const RayCamera eye(camera);
    Image image(camera.width_px, camera.height_px, 4);
    for_each_pixel(camera, [&](Tracer& tracer, int x, int y) {
      const Rgba light = pixel_light(x, y, [&](Vec2f at_px, Vec2f start, int i) -> Rgba {
        const Ray ray = eye.ray(at_px);
        const Vec3f color = city::radiance(tracer, ray, tracer.first_hit(ray), pixel_angle(camera),
                                           {start, i * city::kLightRays});
        return {color.x, color.y, color.z, 1};
      });
      std::ranges::copy(light, &image.at(x, y, 0));
    });
    return image;
  }

  std::vector<float> depth(const Camera& camera) {
    const RayCamera eye(camera);
    Image image(camera.width_px, camera.height_px, 1);
    for_each_pixel(camera, [&](Tracer& tracer, int x, int y) {
      const Ray ray = eye.ray({static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f});
      const city::Hit hit = tracer.first_hit(ray);
      image.at(x, y, 0) = hit.is_sky() ? 0 : eye.depth(ray, hit.distance);
    });
    return std::move(image.values);
  }

  // Where a camera sees something at a random pixel. Points follow the cameras, so that those which one after
  // the other show the same blocks.
  void make_point(Tracer& tracer, std::size_t i, Points& points, std::size_t at) {
    Random random = random_stream(photos.seed, Stream::kCityPoints);
    random.skip(i * kNumbersPerPoint);
    const std::size_t total = kPointsPerBlock * static_cast<std::size_t>(plan.block_count * plan.block_count);
    const Camera& camera = cameras[i * cameras.size() / total];
    const RayCamera eye(camera);
    for (;;) {
      const float x = random.uniform(0, static_cast<float>(camera.width_px)),
                  y = random.uniform(0, static_cast<float>(camera.height_px));
      const Ray ray = eye.ray({x, y});
      const city::Hit hit = tracer.first_hit(ray);
      if (hit.is_sky() && random.uniform() > kSkyPart) continue;
      const float distance =
          hit.is_sky() ? distance_to(Ball{{0, 0, 0}, plan.dome_radius()}, ray) : hit.distance;
      const auto noise = [&] { return kNoise * distance * random.normal(); };
      const Vec2f start(random.uniform(), random.uniform());
      const Vec3f shift(noise(), noise(), noise());
      points.position[at] = ray.at(distance) + shift;
      points.color[at] = photos.black_points
                             ? std::array<std::uint8_t, 3>{0, 0, 0}
                             : develop(mean_radiance(tracer, ray, hit, pixel_angle(camera), start));
      return;
    }
  }
};

City::City(const CityOptions& options, std::size_t cached_blocks)
    : state_(std::make_unique<State>(options, cached_blocks)) {}
City::~City() = default;

int City::block_count() const { return state_->plan.block_count; }

std::vector<SynthView> City::cameras() const {
  std::vector<SynthView> views;
  views.reserve(state_->cameras.size());
  for (const Camera& camera : state_->cameras)
    views.push_back({fmt::format("{:04}.png", views.size() + 1), camera, camera});
  SynthOptions faults = state_->photos;
  faults.pose_noise_degrees = 0;
  faults.passer_by_count = 0;
  synth::add_faults(faults, views);
  return views;
}

SynthPicture City::render(const SynthView& view) const {
  SynthPicture picture;
  picture.depth = state_->depth(view.camera);
  const Image light = motion_blur(state_->light(view.camera), view.faults.blur_px);
  develop_picture(light, std::exp2(view.faults.exposure_stops), false, picture);
  return picture;
}

std::size_t City::point_count() const {
  const auto side = static_cast<std::size_t>(state_->plan.block_count);
  return state_->photos.no_points ? 0 : kPointsPerBlock * side * side;
}

Points City::points(std::size_t begin, std::size_t end) const {
  Points points;
  points.position.resize(end - begin);
  points.color.resize(end - begin);
  parallel_ranges(end - begin, 256, [&](std::size_t from, std::size_t to) {
    Tracer tracer(state_->plan, state_->cache);
    for (std::size_t i = from; i < to; ++i) state_->make_point(tracer, begin + i, points, i);
  });
  return points;
}

}  // namespace stipple
