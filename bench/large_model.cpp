// SPDX-License-Identifier: Apache-2.0
// Trains a large model of a city for some steps, and reports time and device memory per Gaussian.
//   stipple_large_model [--count N] [--steps N] [--backend NAME] [--max-vram GIB] [--views N] [--size WxH]
//                       [--batch N] [--strategy mcmc|adc]
// The scene is made in memory: photos of a city by a ray tracer, and a start model with a Gaussian for each
// of as many points on its surfaces as are wanted, spread evenly over the pixels of the photos. It starts a
// little smaller and grows to the number at the first refinement.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "stipple/camera/pinhole_lens.h"
#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"
#include "stipple/image/byte_image.h"
#include "stipple/io/image/image_file.h"
#include "stipple/math/math.h"
#include "stipple/synth/city/city.h"
#include "stipple/train/memory_plan.h"
#include "stipple/train/trainer.h"

namespace stipple {
namespace {

using M = Math<float>;

constexpr std::size_t kScenePoints = 200'000;  // of the scene; the start model has all points
constexpr std::size_t kPointsPerBlock = 1'500, kPointsAtOnce = 1 << 20;
constexpr float kGrowth = 1.02f;  // of the first refinement
constexpr int kWarmUp = 10;       // steps that are not timed: they allocate the buffers
constexpr double kGiB = 1 << 30;

struct Arguments {
  std::size_t count = 100'000;
  int steps = 250, views = 40, width_px = 640, height_px = 360, batch = 1;
  std::string backend = "best";
  double max_vram_gib = 0;
  Strategy strategy = Strategy::kMcmc;
};

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--count")
      a.count = static_cast<std::size_t>(std::strtod(value, nullptr));  // also 5e7
    else if (name == "--steps")
      a.steps = std::atoi(value);
    else if (name == "--backend")
      a.backend = value;
    else if (name == "--max-vram")
      a.max_vram_gib = std::atof(value);
    else if (name == "--views")
      a.views = std::atoi(value);
    else if (name == "--batch")
      a.batch = std::atoi(value);
    else if (name == "--strategy")
      a.strategy = std::string_view(value) == "adc" ? Strategy::kAdc : Strategy::kMcmc;
    else if (name == "--size" && std::sscanf(value, "%dx%d", &a.width_px, &a.height_px) == 2)
      continue;
    else
      throw Error(fmt::format("there is no option {} {}", name, value));
  }
  if (argc % 2 == 0) throw Error(fmt::format("{} needs a value", argv[argc - 1]));
  return a;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// A folder of photos, which is removed at the end.
class PhotoFolder {
 public:
  PhotoFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "large_model_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw Error("cannot make a temporary folder");
    path_ = name;
  }
  ~PhotoFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PhotoFolder(const PhotoFolder&) = delete;
  PhotoFolder& operator=(const PhotoFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct CityScene {
  Scene scene;
  Gaussians start;
};

// Points of the city follow its cameras one after another, and each is what a camera sees at a random pixel.
class Maker {
 public:
  Maker(const Arguments& a, const PhotoFolder& folder)
      : count_(static_cast<std::size_t>(static_cast<double>(a.count) / kGrowth)),
        city_(city_options(a)),
        views_(city_.cameras()) {
    for (const SynthView& view : views_) {
      photos_.push_back(city_.render(view).photo);
      ByteImage image(a.width_px, a.height_px, 3);
      image.values = photos_.back().rgb;
      SceneView of_scene;
      of_scene.name = view.name;
      of_scene.image_path = folder.path() / view.name;
      of_scene.lens = pinhole_lens(view.camera);
      of_scene.camera = view.camera;
      save_png(image, of_scene.image_path);
      made_.scene.views.push_back(std::move(of_scene));
    }
    pixels_per_point_ = static_cast<float>(views_.size()) * static_cast<float>(a.width_px * a.height_px) /
                        static_cast<float>(count_);
  }

  CityScene make() {
    made_.start = make_gaussians(count_, 3);
    const std::size_t total = city_.point_count(), stride = (count_ - 1) / kScenePoints + 1;
    for (std::size_t begin = 0; begin < count_; begin += kPointsAtOnce) {
      const std::size_t end = std::min(begin + kPointsAtOnce, count_);
      const std::vector<Vec3f> points = city_.points(begin, end).position;
      parallel_for(
          points.size(),
          [&](std::size_t i) { place(begin + i, points[i], (begin + i) * views_.size() / total); }, 1 << 12);
      for (std::size_t i = (begin + stride - 1) / stride * stride; i < end; i += stride) {
        made_.scene.points.position.push_back(points[i - begin]);
        made_.scene.points.color.push_back({128, 128, 128});
      }
    }
    return std::move(made_);
  }

 private:
  static CityOptions city_options(const Arguments& a) {
    CityOptions options;
    options.photos.view_count = a.views;
    options.photos.width_px = a.width_px;
    options.photos.height_px = a.height_px;
    options.photos.black_points = true;  // the photos have the colours
    options.block_count =
        static_cast<int>(std::ceil(std::sqrt(static_cast<double>(a.count) / kPointsPerBlock)));
    return options;
  }

  // As large as its share of the pixels, and in the colour of the photo there.
  void place(std::size_t i, Vec3f point, std::size_t view) {
    const Camera& camera = views_[view].camera;
    const Vec3f offset = point - center_of(camera);
    const float spacing = std::sqrt(dot(offset, offset) * pixels_per_point_) / camera.focal_px.x;
    const float scale = std::log(0.5f * spacing);
    Gaussians& g = made_.start;
    g.mean[i] = point;
    g.log_scale[i] = {scale, scale, scale};
    g.rotation[i] = {1, 0, 0, 0};
    g.logit_opacity[i] = M::logit(0.5f);
    Vec3f& base = g.sh[16 * i];
    if (const std::optional<Vec3f> at = project_point(camera, point)) {
      const auto pixel = static_cast<std::size_t>(at->y) * static_cast<std::size_t>(camera.width_px) +
                         static_cast<std::size_t>(at->x);
      const std::uint8_t* rgb = &photos_[view].rgb[3 * pixel];
      for (int c = 0; c < 3; ++c) base[c] = (static_cast<float>(rgb[c]) / 255 - 0.5f) / M::sh_0;
    }
  }

  std::size_t count_;
  City city_;
  std::vector<SynthView> views_;
  std::vector<Photo> photos_;
  float pixels_per_point_ = 1;
  CityScene made_;
};

TrainOptions options_for(const Arguments& a) {
  TrainOptions o = default_train_options(a.strategy);
  o.stop_at = a.steps;
  o.batch = a.batch;
  o.max_gaussians = a.count;
  o.refine_from = 0;
  o.grow_gradient = 0;
  o.growth = 2;
  o.guard = GuardUse::kOff;
  return o;
}

void print_memory(const Backend& backend, const Trainer& trainer, const Scene& scene, const TrainOptions& o,
                  std::size_t visible, std::size_t pairs) {
  const auto count = static_cast<double>(trainer.gaussian_count());
  MemoryNeeds needs = memory_needs(scene, scene.train_views());
  needs.sh_degree = o.sh_degree;
  needs.batch = o.batch;
  needs.has_absolute = o.absolute_gradients;
  if (trainer.has_harmonics_on_host()) needs.harmonics = Place::kHost;
  const auto line = [&](const char* what, std::size_t bytes) {
    const auto all = static_cast<double>(bytes), photos = static_cast<double>(needs.photo_bytes);
    fmt::print("{:<34}{:>9.3f} GiB {:>8.1f} bytes per Gaussian, {:.1f} without photos\n", what, all / kGiB,
               all / count, (all - photos) / count);
  };
  line("peak of the device", backend.peak_used_bytes());
  line("at the end", backend.used_bytes());
  const auto plan = [&] {
    return needs.photo_bytes + training_bytes(backend, trainer.gaussian_count(), needs);
  };
  if (trainer.has_harmonics_on_host()) fmt::print("harmonics lie in the host's memory\n");
  fmt::print("the plan takes {:.1f} % as visible\n", 100 * needs.visible_share);
  line("plan before the run", plan());
  if (visible == 0) return;  // the backend does not count them
  needs.visible_share = static_cast<double>(visible) / count;
  needs.pairs_per_visible = static_cast<double>(pairs) / static_cast<double>(visible);
  line("plan with what the views show", plan());
}

void run(const Arguments& a) {
  const PhotoFolder folder;
  Stopwatch making;
  CityScene made = Maker(a, folder).make();
  fmt::print("{} Gaussians and {} photos of {}x{} made in {:.1f} s\n", made.start.size(),
             made.scene.views.size(), a.width_px, a.height_px, making.seconds());
  auto backend = make_backend(a.backend, {.max_bytes = static_cast<std::size_t>(a.max_vram_gib * kGiB)});
  fmt::print("{}: {}\n", backend->name(), backend->description());
  const TrainOptions options = options_for(a);
  Stopwatch starting;
  Trainer trainer(*backend, made.scene, options, std::move(made.start));
  fmt::print("started in {:.1f} s with {} Gaussians\n", starting.seconds(), trainer.gaussian_count());

  StageTimes ms{};
  double refine_ms = 0, step_s = 0, visible_sum = 0;
  int timed = 0, refinements = 0;
  std::size_t visible = 0, pairs = 0;
  while (!trainer.done()) {
    Stopwatch watch;
    const StepReport report = trainer.step();
    const double seconds = watch.seconds(), refined_ms = report.ms[static_cast<std::size_t>(Stage::kRefine)];
    visible = std::max(visible, report.visible);
    pairs = std::max(pairs, report.pairs);
    visible_sum += static_cast<double>(report.visible);
    if (report.step % 100 == 0) {
      refine_ms += refined_ms;
      ++refinements;
      fmt::print("step {}: loss {:.4f}, {} Gaussians, refinement {:.0f} ms, {:.2f} GiB in use\n", report.step,
                 report.loss, report.gaussian_count, refined_ms,
                 static_cast<double>(backend->used_bytes()) / kGiB);
    } else if (report.step > kWarmUp) {
      for (std::size_t i = 0; i < ms.size(); ++i) ms[i] += report.ms[i];
      step_s += seconds;
      ++timed;
    }
  }
  fmt::print("{} Gaussians, {} steps: {:.2f} ms per step\n", trainer.gaussian_count(), trainer.steps_done(),
             timed > 0 ? 1e3 * step_s / timed : 0);
  for (std::size_t i = 0; timed > 0 && i < ms.size(); ++i)
    if (ms[i] > 0) fmt::print("  {:<28}{:>9.3f} ms\n", kStageNames[i], ms[i] / timed);
  if (refinements > 0) fmt::print("  {:<28}{:>9.1f} ms each\n", "refinements", refine_ms / refinements);
  const auto count = static_cast<double>(trainer.gaussian_count());
  if (visible > 0)
    fmt::print("visible: {:.0f} of a view in the mean ({:.2f} %), {} at most, in {:.1f} tiles each\n",
               visible_sum / trainer.steps_done(), 100 * visible_sum / trainer.steps_done() / count, visible,
               static_cast<double>(pairs) / static_cast<double>(visible));
  if (backend->own_memory_bytes() > 0) print_memory(*backend, trainer, made.scene, options, visible, pairs);
}

}  // namespace
}  // namespace stipple

int main(int argc, char** argv) try {
  stipple::run(stipple::parse(argc, argv));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
