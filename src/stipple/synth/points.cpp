// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/random_stream.h"
#include "stipple/synth/ray_camera.h"
#include "stipple/synth/shade.h"
#include "stipple/synth/synth.h"

namespace stipple {

namespace {

using namespace synth;

constexpr std::size_t kPointCount = 15'000;
constexpr float kSkyPart = 0.3f;   // fraction of the points on the sky to keep: it has few features
constexpr float kNoise = 0.0015f;  // standard deviation of a point's position, relative to its distance

Vec3f noise_of_place(Random& random, float distance) {
  const auto one = [&] { return kNoise * distance * random.normal(); };
  return {one(), one(), one()};
}

// A point's colour is the mean of several samples, since each has few rays to the sun.
Vec3f mean_matte_radiance(const StillLife& scene, const Ray& ray, const Hit& hit, Vec2f sun_start) {
  constexpr int kSamples = 4;
  Vec3f sum(0, 0, 0);
  for (int i = 0; i < kSamples; ++i) sum = sum + matte_radiance(scene, ray, hit, {sun_start, i * kSunRays});
  return sum * (1.0f / kSamples);
}

Vec2f random_pixel(const Camera& camera, Random& random) {
  return {random.uniform(0, static_cast<float>(camera.width_px)),
          random.uniform(0, static_cast<float>(camera.height_px))};
}

}  // namespace

Points synth_points(const SynthOptions& options) {
  const StillLife scene = make_still_life(options.seed);
  const std::vector<SynthView> views = synth_cameras(options);
  if (options.no_points) return {};
  Random random = random_stream(options.seed, Stream::kPoints);
  Points points;
  while (points.size() < kPointCount) {
    const Camera& camera = views[random.below(views.size())].camera;
    const Ray ray = RayCamera(camera).ray(random_pixel(camera, random));
    const Hit hit = first_hit(scene, ray);
    const bool is_object = hit.object != &scene.ground && hit.object != &scene.dome;
    if (options.transparent && !is_object) continue;
    if (hit.object == &scene.dome && random.uniform() > kSkyPart) continue;
    const Vec2f sun_start(random.uniform(), random.uniform());
    points.color.push_back(develop(mean_matte_radiance(scene, ray, hit, sun_start)));
    points.position.push_back(ray.at(hit.distance) + noise_of_place(random, hit.distance));
  }
  if (options.black_points) points.color.assign(points.size(), {0, 0, 0});
  return points;
}

}  // namespace stipple
