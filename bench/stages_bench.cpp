// SPDX-License-Identifier: Apache-2.0
// One benchmark per stage and scene, with names such as blend/cpu/1M/720p. `step` is a whole training step:
// all stages, with the last two fused.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

#include "bench/scenes.h"
#include "stipple/core/parallel.h"

namespace stipple {
namespace {

// Everything that a training step needs; shared by the benchmarks of a scene.
class Workbench {
 public:
  Workbench(const std::string& backend, const BenchScene& scene)
      : backend_(make_backend(backend)), scene_(scene) {
    view_ = bench_view(scene);
    view_.id = 0;
    state_ = make_train_state(*backend_, bench_gaussians(scene));
    Random random(2);
    std::vector<std::uint8_t> target(3ull * scene.width * scene.height);
    for (auto& v : target) v = static_cast<std::uint8_t>(random.below(256));
    target_.color.upload(*backend_, target);
    rates_ = {.mean = 1e-9f,
              .log_scale = 1e-9f,
              .rotation = 1e-9f,
              .logit_opacity = 1e-9f,
              .sh_base = 1e-9f,
              .sh_rest = 1e-9f};  // too small to change the scene
    step();
    project_backward();  // provides the gradients for the benchmark of optimize
  }

  void project() { backend_->project(state_.gaussians, {}, view_, pass_); }
  void bin() { backend_->bin(view_, pass_); }
  void blend() { backend_->blend(view_, pass_); }
  void loss() { backend_->loss(view_, target_, {}, pass_); }
  void blend_backward() { backend_->blend_backward(view_, {}, pass_); }
  void project_backward() {
    sum_.is_empty = true;
    backend_->project_backward(state_.gaussians, {}, view_, {}, pass_, sum_);
  }
  void optimize() { backend_->optimize(state_, sum_, rates_, {}, pass_); }
  void project_backward_optimize() {
    backend_->project_backward_optimize(state_, view_, {}, rates_, {}, pass_);
  }
  void step() {
    project();
    bin();
    blend();
    loss();
    blend_backward();
    project_backward_optimize();
  }

  void print_counts() const {
    auto splats = pass_.projection.splat.download(*backend_);
    const std::vector<VisibleBlock> blocks = pass_.projection.visible.download(*backend_);
    const std::size_t visible = blocks.empty() ? 0 : blocks.back().end_row();
    std::printf("# %s: %zu Gaussians, %dx%d, %zu visible, %zu pairs, %zu contributions, %.0f MiB peak\n",
                scene_.name.c_str(), scene_.count, scene_.width, scene_.height, visible,
                pass_.bins.splat_from_slot.size(), count_contributions(splats), peak_MiB());
    std::fflush(stdout);
  }

 private:
  // A contribution is one splat blended into one pixel.
  std::size_t count_contributions(const std::vector<ProjectedSplat>& splats) const {
    auto slots = pass_.bins.splat_from_slot.download(*backend_);
    auto begin = pass_.bins.slot_begin_from_tile.download(*backend_);
    std::atomic<std::size_t> contributions = 0;
    parallel_for(begin.size() - 1, [&](std::size_t tile) {
      int x0 = static_cast<int>(tile % pass_.bins.column_count) * 16,
          y0 = static_cast<int>(tile / pass_.bins.column_count) * 16;
      std::size_t count = 0;
      for (int y = y0; y < std::min(y0 + 16, scene_.height); ++y)
        for (int x = x0; x < std::min(x0 + 16, scene_.width); ++x) {
          float transmittance = 1;
          Vec2f pixel(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
          for (std::size_t k = begin[tile]; k < begin[tile + 1]; ++k) {
            const ProjectedSplat& s = splats[slots[k]];
            if (std::abs(s.splat.mean_px.y - pixel.y) > s.half_extent_px.y) continue;
            if (std::abs(s.splat.mean_px.x - pixel.x) > s.half_extent_px.x) continue;
            float alpha = Math<float>::alpha_at(s.splat, pixel, view_.options.alpha_max);
            if (alpha == 0) continue;
            if (Math<float>::finishes_pixel(transmittance, alpha)) break;
            transmittance *= 1 - alpha;
            ++count;
          }
        }
      contributions += count;
    });
    return contributions;
  }

  static double peak_MiB() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
  }

  std::unique_ptr<Backend> backend_;
  BenchScene scene_;
  View view_;
  TrainState state_;
  GradientSum sum_;
  AdamOptions rates_;
  LossTarget target_;
  Pass pass_;
};

// Only one exists at a time: the largest scene takes over a gigabyte.
Workbench& workbench(const std::string& backend, const BenchScene& scene) {
  static std::string key;
  static std::unique_ptr<Workbench> current;
  if (key != backend + scene.name) {
    current.reset();
    current = std::make_unique<Workbench>(backend, scene);
    current->print_counts();
    key = backend + scene.name;
  }
  return *current;
}

void register_stage(const char* stage, void (Workbench::*run)(), const std::string& backend,
                    const BenchScene& scene) {
  std::string name = std::string(stage) + "/" + backend + "/" + scene.name;
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) {
                                 Workbench& bench = workbench(backend, scene);
                                 for (auto _ : state) (bench.*run)();
                               })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->MeasureProcessCPUTime();
}

void register_all() {
  for (const std::string backend : {"cpu"})  // GPU calls return before their stage ends: see gpu_stages.cpp
    for (const BenchScene& scene : kBenchScenes) {
      register_stage("project", &Workbench::project, backend, scene);
      register_stage("bin", &Workbench::bin, backend, scene);
      register_stage("blend", &Workbench::blend, backend, scene);
      register_stage("loss", &Workbench::loss, backend, scene);
      register_stage("blend_backward", &Workbench::blend_backward, backend, scene);
      register_stage("project_backward", &Workbench::project_backward, backend, scene);
      register_stage("optimize", &Workbench::optimize, backend, scene);
      register_stage("project_backward_optimize", &Workbench::project_backward_optimize, backend, scene);
      register_stage("step", &Workbench::step, backend, scene);
    }
}

}  // namespace
}  // namespace stipple

int main(int argc, char** argv) {
  stipple::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
