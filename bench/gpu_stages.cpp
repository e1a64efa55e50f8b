// SPDX-License-Identifier: Apache-2.0
// Compares every stage of a training step on a GPU with its lower bound: the least number of bytes it must
// move, at the speed of a copy on this GPU, plus the least number of instructions it must issue.
//   stipple_gpu_stages [BACKEND [STEPS [SCENE]]]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "bench/scenes.h"
#include "stipple/core/parallel.h"

namespace stipple {
namespace {

// The amount of work in a view, counted in the results of the stages.
struct Counts {
  double gaussians = 0, visible = 0, pairs = 0, pixels = 0;
  double processed = 0;      // slots before all pixels of their tile are finished
  double contributions = 0;  // splats blended into pixels
  double patches = 0;        // of 8 x 4 pixels, counted for each splat that reaches an unfinished pixel
};

struct TileCount {
  std::size_t contributions = 0, patches = 0, processed = 0;
};

class TileCounter {
 public:
  TileCounter(const std::vector<ProjectedSplat>& splats, const std::vector<std::uint32_t>& slots,
              const View& view)
      : splats_(splats), slots_(slots), view_(view) {}

  TileCount count(int x0, int y0, std::size_t begin, std::size_t end) const {
    TileCount total;
    for (int patch = 0; patch < 8; ++patch) {
      std::size_t processed = 0;
      count_patch(x0 + patch % 2 * 8, y0 + patch / 2 * 4, begin, end, total, processed);
      total.processed = std::max(total.processed, processed);
    }
    return total;
  }

 private:
  void count_patch(int x0, int y0, std::size_t begin, std::size_t end, TileCount& total,
                   std::size_t& processed) const {
    float transmittance[32];
    for (int i = 0; i < 32; ++i)
      transmittance[i] =
          x0 + i % 8 < view_.camera.width_px && y0 + i / 8 < view_.camera.height_px ? 1.0f : 0.0f;
    for (std::size_t k = begin; k < end; ++k) {
      if (std::all_of(transmittance, transmittance + 32, [](float t) { return t == 0; })) return;
      processed = k + 1 - begin;
      const ProjectedSplat& s = splats_[slots_[k]];
      if (s.splat.mean_px.y + s.half_extent_px.y < static_cast<float>(y0) ||
          s.splat.mean_px.y - s.half_extent_px.y > static_cast<float>(y0 + 4) ||
          s.splat.mean_px.x + s.half_extent_px.x < static_cast<float>(x0) ||
          s.splat.mean_px.x - s.half_extent_px.x > static_cast<float>(x0 + 8))
        continue;
      bool any = false;
      for (int i = 0; i < 32; ++i) {
        if (transmittance[i] == 0) continue;
        const Vec2f pixel(static_cast<float>(x0 + i % 8) + 0.5f, static_cast<float>(y0 + i / 8) + 0.5f);
        const float alpha = Math<float>::alpha_at(s.splat, pixel, view_.options.alpha_max);
        if (alpha == 0) continue;
        any = true;
        if (Math<float>::finishes_pixel(transmittance[i], alpha)) {
          transmittance[i] = 0;
          continue;
        }
        transmittance[i] *= 1 - alpha;
        ++total.contributions;
      }
      total.patches += any;
    }
  }

  const std::vector<ProjectedSplat>& splats_;
  const std::vector<std::uint32_t>& slots_;
  const View& view_;
};

Counts count(Backend& backend, const BenchScene& scene, const View& view, const Pass& b) {
  Counts c;
  const auto splats = b.projection.splat.download(backend);
  const auto slots = b.bins.splat_from_slot.download(backend);
  const auto begin = b.bins.slot_begin_from_tile.download(backend);
  c.gaussians = static_cast<double>(scene.count);
  c.visible = static_cast<double>(gaussians_of_rows(b.projection.visible.download(backend)).size());
  c.pairs = begin.back();
  c.pixels = static_cast<double>(scene.width) * scene.height;
  std::atomic<std::size_t> contributions = 0, patches = 0, processed = 0;
  const TileCounter counter(splats, slots, view);
  parallel_for(begin.size() - 1, [&](std::size_t t) {
    const int columns = b.bins.column_count;
    const TileCount n = counter.count(static_cast<int>(t) % columns * 16, static_cast<int>(t) / columns * 16,
                                      begin[t], begin[t + 1]);
    contributions += n.contributions;
    patches += n.patches;
    processed += n.processed;
  });
  c.contributions = static_cast<double>(contributions);
  c.patches = static_cast<double>(patches);
  c.processed = static_cast<double>(processed);
  return c;
}

// Bytes per second of a large copy; reads and writes both count.
double copy_rate(Backend& backend) {
  constexpr std::size_t kRowBytes = 256, kMostRows = 1 << 22;
  const std::size_t row_count = std::min(kMostRows, backend.own_memory_bytes() / 64 / kRowBytes);
  DeviceArray<std::uint32_t> rows, from, to;
  std::vector<std::uint32_t> identity(row_count);
  std::iota(identity.begin(), identity.end(), 0u);
  rows.upload(backend, identity);
  from.resize_zero(backend, row_count * kRowBytes / 4);
  to.resize(backend, row_count * kRowBytes / 4);
  double best = 0;
  for (int i = 0; i < 6; ++i) {
    constexpr int kRepeats = 20;
    rows.download(backend);  // waits for the device
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < kRepeats; ++k) backend.gather(*from.memory(), rows, kRowBytes, *to.memory());
    DeviceArray<std::uint32_t> one;
    one.resize_zero(backend, 1);
    one.download(backend);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * kRepeats * kRowBytes * static_cast<double>(row_count) / seconds);
  }
  return best;
}

// Lane instructions per second of an H200: multiprocessors x 128 x clock.
constexpr double kIssueRate = 132.0 * 128 * 1.98e9;

StageTimes floors(const Counts& c, double rate) {
  const auto bytes = [&](double n) { return n / rate * 1e3; };
  const auto issue = [](double n) { return n / kIssueRate * 1e3; };
  StageTimes ms{};
  const auto set = [&](Stage stage, double value) { ms[static_cast<std::size_t>(stage)] = value; };
  set(Stage::kProject, bytes(12 * c.gaussians + 168 * c.visible));
  set(Stage::kBin, bytes(68 * c.visible + 34 * c.pairs));
  set(Stage::kBlend, bytes(40 * c.visible + 4 * c.processed + 16 * c.pixels) + issue(18 * 32 * c.patches));
  set(Stage::kLoss, bytes(80 * c.pixels));
  set(Stage::kBlendBackward, bytes(2 * 8 * 8 * c.processed) + issue(50 * c.contributions));
  set(Stage::kOptimize, bytes(667 * c.visible));
  return ms;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void run(Backend& backend, const BenchScene& scene, int steps, double rate) {
  View view = bench_view(scene);
  view.id = 0;
  TrainState state = make_train_state(backend, bench_gaussians(scene));
  Random random(2);
  std::vector<std::uint8_t> photo(3ull * scene.width * scene.height);
  for (auto& v : photo) v = static_cast<std::uint8_t>(random.below(256));
  LossTarget target;
  target.color.upload(backend, photo);
  TrainStep what;
  what.adam = {.mean = 1e-9f,
               .log_scale = 1e-9f,
               .rotation = 1e-9f,
               .logit_opacity = 1e-9f,
               .sh_base = 1e-9f,
               .sh_rest = 1e-9f};  // too small to change the scene
  TrainBuffers buffers;
  const TrainView one{view, &target};
  for (int i = 0; i < 10; ++i) backend.train_step(state, {&one, 1}, what, buffers);
  std::vector<std::vector<double>> times(static_cast<std::size_t>(Stage::kCount));
  std::vector<double> whole;
  for (int i = 0; i < steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const PassResult outcome = backend.train_step(state, {&one, 1}, what, buffers);
    whole.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    for (std::size_t s = 0; s < times.size(); ++s) times[s].push_back(outcome.ms[s]);
  }
  const Counts c = count(backend, scene, view, buffers.pass);
  std::printf(
      "# %s: %.0f visible, %.0f pairs, %.0f processed, %.1f contributions and %.2f patches per pixel, %.0f "
      "MiB\n",
      scene.name.c_str(), c.visible, c.pairs, c.processed, c.contributions / c.pixels, c.patches / c.pixels,
      static_cast<double>(backend.peak_used_bytes()) / (1 << 20));
  const StageTimes floor = floors(c, rate);
  double forward = 0, forward_floor = 0, all_floor = 0;
  const auto print = [](const char* name, double ms, double least) {
    std::printf("%-28s %8.4f %8.4f %6.2f\n", name, ms, least, ms / least);
  };
  for (Stage stage :
       {Stage::kProject, Stage::kBin, Stage::kBlend, Stage::kLoss, Stage::kBlendBackward, Stage::kOptimize}) {
    const auto s = static_cast<std::size_t>(stage);
    const double ms = median(times[s]);
    print(kStageNames[s], ms, floor[s]);
    all_floor += floor[s];
    if (stage <= Stage::kBlend) forward += ms, forward_floor += floor[s];
  }
  print("forward", forward, forward_floor);
  print("step", median(whole), all_floor);
  std::fflush(stdout);
}

}  // namespace
}  // namespace stipple

int main(int argc, char** argv) {
  using namespace stipple;
  const auto backend = make_backend(argc > 1 ? argv[1] : "cuda");
  const int steps = argc > 2 ? std::atoi(argv[2]) : 100;
  const double rate = copy_rate(*backend);
  std::printf("# %s, copies at %.2f TB/s\n# stage, ms, floor, ratio\n", backend->description().c_str(),
              rate / 1e12);
  for (const BenchScene& scene : kGpuScenes)
    if (argc <= 3 || scene.name == argv[3]) run(*backend, scene, steps, rate);
}
