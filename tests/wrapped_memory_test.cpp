// SPDX-License-Identifier: Apache-2.0
// Arrays in memory of somebody else's: stages read and write what belongs to them and not a byte more. Each
// array ends where a page begins that must not be touched.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/backend_run.h"
#include "tests/conformance_scenes.h"

namespace stipple {

namespace {

class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t used = (bytes + page - 1) / page * page;
    size_ = used + page;
    start_ = static_cast<std::byte*>(
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(start_ + used, page, PROT_NONE);
    data_ = start_ + used - bytes;
  }
  ~GuardedBytes() { ::munmap(start_, size_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  void* data() const { return data_; }

 private:
  std::size_t size_ = 0;
  std::byte *start_ = nullptr, *data_ = nullptr;
};

class Guarded {  // arrays whose memory lives as long as this
 public:
  explicit Guarded(Backend& backend) : backend_(backend) {}

  template <class T>
  DeviceArray<T> array(std::size_t count) {
    blocks_.push_back(std::make_unique<GuardedBytes>(count * sizeof(T)));
    return DeviceArray<T>::over(backend_, static_cast<T*>(blocks_.back()->data()), count);
  }
  template <class T>
  DeviceArray<T> array(const std::vector<T>& values) {
    auto made = array<T>(values.size());
    std::memcpy(blocks_.back()->data(), values.data(), values.size() * sizeof(T));
    return made;
  }
  DeviceGaussians gaussians(const Gaussians& g) {
    DeviceGaussians made;
    made.sh_degree = g.sh_degree;
    for_each_parameter([&](int, auto& to, const auto& from) { to = array(from); }, made, g);
    return made;
  }

 private:
  Backend& backend_;
  std::vector<std::unique_ptr<GuardedBytes>> blocks_;
};

class WrappedMemory : public testing::TestWithParam<int> {};  // how many Gaussians

TEST_P(WrappedMemory, IsLeftByNoStage) {
  const Gaussians g = random_cloud(static_cast<std::size_t>(GetParam()), 3, 90, {.spread = 1.5f});
  const View view{looking_down_z(53, 37, 40), {.depth = DepthOutput::kExpected}};
  const std::size_t count = g.size(), pixels = 53 * 37;
  Rendering own("cpu", g, view);
  FrameGradient dL = random_gradient(*own.backend, view, true);
  Gradients expected;
  own.backward(view, dL, expected);

  const auto backend = make_backend("cpu");
  Guarded guarded(*backend);
  const DeviceGaussians gaussians = guarded.gaussians(g);
  Projection projection;
  projection.splat = guarded.array<ProjectedSplat>(count);
  TileBins bins;
  Frame frame;
  frame.color = guarded.array<float>(3 * pixels);
  frame.transmittance = guarded.array<float>(pixels);
  frame.depth = guarded.array<float>(pixels);
  backend->project(gaussians, {}, view, projection);
  backend->bin(projection, view, bins);
  backend->blend(projection, bins, view, frame);
  EXPECT_TRUE(same_bits(frame.color.download(*backend), own.frame.color.download(*own.backend)));

  FrameGradient dL_dframe;
  dL_dframe.color = guarded.array(dL.color.download(*own.backend));
  dL_dframe.alpha = guarded.array(dL.alpha.download(*own.backend));
  dL_dframe.depth = guarded.array(dL.depth.download(*own.backend));
  SplatGradient dL_dsplat;
  dL_dsplat.splat = guarded.array<Splat>(count);
  backend->blend_backward(projection, bins, view, frame, dL_dframe, dL_dsplat);
  DeviceGaussians gradients = guarded.gaussians(g);
  Precomputed none;
  CameraGradient camera;
  backend->project_backward(gaussians, {}, view, projection, dL_dsplat, gradients, none, &camera);
  const Gaussians ours = download(*backend, gradients), theirs = download(*own.backend, expected.gaussians);
  EXPECT_TRUE(same_bits(ours.sh, theirs.sh));
  EXPECT_TRUE(same_bits(ours.mean, theirs.mean));

  LossTarget target;
  target.color = guarded.array(std::vector<std::uint8_t>(3 * pixels, 77));
  target.weight = guarded.array(std::vector<float>(pixels, 0.5f));
  FrameGradient dL_dloss;
  dL_dloss.color = guarded.array<float>(3 * pixels);
  EXPECT_GT(backend->loss(frame, target, 0.2f, dL_dloss).total, 0);
}

INSTANTIATE_TEST_SUITE_P(Counts, WrappedMemory, testing::Values(1, 15, 16, 17, 203),
                         testing::PrintToStringParamName());

}  // namespace

}  // namespace stipple
