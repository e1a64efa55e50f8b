// SPDX-License-Identifier: Apache-2.0
// Compares the ways in which the Vulkan backend sums the gradients of the splats: float atomics,
// compare-and-swap, and sums of slots in a fixed order, each with and without subgroup operations.
//   stipple_vulkan_sums [STEPS [SCENE]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/scenes.h"
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Median ms of blend, for comparison, and of blend_backward.
void run(const char* name, const BackendOptions& options, const vulkan::Overrides& overrides,
         const BenchScene& scene, int steps) {
  vulkan::VulkanBackend backend(options, overrides);
  View view = bench_view(scene);
  view.id = 0;
  TrainState state = make_train_state(backend, bench_gaussians(scene));
  LossTarget target;
  target.color.upload(backend,
                      std::vector<std::uint8_t>(3ull * scene.width * scene.height, std::uint8_t{128}));
  TrainStep what;  // learning rates of 0: the scene does not change
  TrainBuffers buffers;
  const TrainView one{view, &target};
  std::vector<double> blend, backward;
  for (int i = 0; i < 8 * steps; ++i) {  // every eighth step is timed
    const PassResult outcome = backend.train_step(state, {&one, 1}, what, buffers);
    if (i < 8) continue;
    blend.push_back(outcome.ms[static_cast<std::size_t>(Stage::kBlend)]);
    backward.push_back(outcome.ms[static_cast<std::size_t>(Stage::kBlendBackward)]);
  }
  std::printf("%-40s %8.2f %8.2f\n", name, median(blend), median(backward));
  std::fflush(stdout);
}

}  // namespace
}  // namespace stipple

int main(int argc, char** argv) {
  using namespace stipple;
  const int steps = argc > 1 ? std::atoi(argv[1]) : 10;
  for (const BenchScene& scene : kBenchScenes) {
    if (scene.name != (argc > 2 ? argv[2] : "2k/136p")) continue;
    std::printf("# %s, %s\n# sums, ms of blend, ms of blend_backward\n",
                vulkan::VulkanBackend({}).description().c_str(), scene.name.c_str());
    for (const bool no_subgroups : {false, true}) {
      const char* suffix = no_subgroups ? ", without subgroups" : "";
      const auto name = [&](const char* way) { return std::string(way) + suffix; };
      run(name("float atomics").c_str(), {}, {.no_subgroups = no_subgroups}, scene, steps);
      run(name("compare-and-swap").c_str(), {}, {.no_subgroups = no_subgroups, .no_float_atomics = true},
          scene, steps);
      run(name("slots, in a fixed order").c_str(), {.deterministic = true}, {.no_subgroups = no_subgroups},
          scene, steps);
    }
  }
}
