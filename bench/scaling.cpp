// SPDX-License-Identifier: Apache-2.0
// Measures how the time of a training step grows with pixels and with Gaussians; prints and plots a table.
//   build/release/bench/stipple_scaling docs/scaling.png
#include <chrono>
#include <cstdio>

#include "bench/scenes.h"
#include "stipple/draw/canvas.h"
#include "stipple/draw/plot.h"
#include "stipple/io/image/image_file.h"

namespace stipple {
namespace {

constexpr int kRepetitions = 7;

struct StepTime {                                     // ms
  double total = 0, per_pixel = 0, per_gaussian = 0;  // blend, loss and blend_backward; all other stages
};

class Timer {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

StepTime time_step(Backend& backend, const BenchScene& scene) {
  const View view = bench_view(scene);
  TrainState state = make_train_state(backend, bench_gaussians(scene));
  LossTarget target;
  target.color.upload(backend, std::vector<std::uint8_t>(3ull * scene.width * scene.height, 128));
  Pass pass;
  StepTime best{1e9, 0, 0};
  for (int i = 0; i < kRepetitions; ++i) {
    StepTime t;
    Timer timer;
    backend.project(state.gaussians, {}, view, pass);
    backend.bin(view, pass);
    t.per_gaussian += timer.lap();
    backend.blend(view, pass);
    backend.loss(view, target, {}, pass);
    backend.blend_backward(view, {}, pass);
    t.per_pixel += timer.lap();
    backend.project_backward_optimize(state, view, {}, {}, {}, pass);
    t.per_gaussian += timer.lap();
    t.total = t.per_pixel + t.per_gaussian;
    if (t.total < best.total) best = t;
  }
  return best;
}

// Plots the whole step and its two parts over the quantity that varies.
Image chart(const std::string& title, const std::string& x_label, const std::vector<double>& x,
            const std::vector<StepTime>& times) {
  PlotOptions options{title, x_label, {}};
  const char* names[] = {"whole step", "blend, loss, blend_backward", "project, bin, optimize"};
  for (std::size_t k = 0; k < 3; ++k) {
    PlotSeries series{names[k], {{0, 0}}, plot_color(k)};
    for (std::size_t i = 0; i < x.size(); ++i)
      series.points.push_back({x[i], k == 0   ? times[i].total
                                     : k == 1 ? times[i].per_pixel
                                              : times[i].per_gaussian});
    options.series.push_back(series);
  }
  return plot(options);
}

int run(const char* path) {
  auto backend = make_backend("best");
  std::vector<double> megapixels, millions;
  std::vector<StepTime> by_pixels, by_count;
  std::printf("100,000 Gaussians at four resolutions\n");
  for (int k : {1, 2, 3, 4}) {  // splats grow with the image, so that the number per pixel is constant
    const BenchScene scene{"", 100'000, 480 * k, 270 * k, 1.5f * static_cast<float>(k)};
    megapixels.push_back(480e-6 * 270 * k * k);
    by_pixels.push_back(time_step(*backend, scene));
    std::printf("%4dx%-4d %7.1f ms, %6.1f ms per megapixel\n", scene.width, scene.height,
                by_pixels.back().total, by_pixels.back().total / megapixels.back());
  }
  std::printf("1280x720 with four Gaussian counts\n");
  for (int k : {1, 2, 4, 8}) {
    const BenchScene scene{"", 125'000ull * static_cast<unsigned>(k), 1280, 720, 1.5f};
    millions.push_back(0.125 * k);
    by_count.push_back(time_step(*backend, scene));
    std::printf("%8zu %7.1f ms, %6.1f ms per million\n", scene.count, by_count.back().total,
                by_count.back().total / millions.back());
  }
  Canvas both(1440, 480, {1, 1, 1});
  both.picture(0, 0, chart("ms per step: 100,000 Gaussians", "megapixels", megapixels, by_pixels));
  both.picture(720, 0, chart("ms per step: 1280x720", "million visible Gaussians", millions, by_count));
  save_png(both.image(), path);
  return 0;
}

}  // namespace
}  // namespace stipple

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: stipple_scaling IMAGE.png\n"), 2;
  return stipple::run(argv[1]);
}
