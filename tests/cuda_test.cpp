// SPDX-License-Identifier: Apache-2.0
// What only CUDA has: streams of other libraries, and borrowed memory. gpu_test.cpp has what all GPUs share.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "stipple/backend/cuda/cuda_backend.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/borrowed_memory.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

class CudaTest : public testing::Test {
 protected:
  void SetUp() override { STIPPLE_SKIP_UNUSABLE("cuda"); }
};

// A loss whose gradient never leaves the device: half the sum of squared colours, whose gradient is the
// colours themselves.
TEST_F(CudaTest, CustomLossRunsEntirelyOnDevice) {
  cuda::CudaBackend backend({.deterministic = true});
  View view{looking_down_z(80, 60, 70), {}};
  view.id = 0;
  TrainState state = make_train_state(backend, random_cloud(500, 0, 126));
  TrainBuffers buffers;
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreate(&stream), "create a stream");
  TrainStep step;
  step.adam = {.logit_opacity = 0.1f, .sh_base = 0.05f};
  step.own_loss = [&](Backend& b, const View&, const Frame& frame, FrameGradient& dL) {
    MemoryBorrower& borrower = *b.borrower();
    borrower.make_stream_wait(stream);
    cuda::check(cudaMemcpyAsync(borrower.address_of(*dL.color.memory()),
                                borrower.address_of(const_cast<Memory&>(*frame.color.memory())),
                                frame.color.size() * sizeof(float), cudaMemcpyDeviceToDevice, stream),
                "copy");
    borrower.wait_for_stream(stream);
  };
  const auto brightness = [&] {
    double sum = 0;
    for (const float v : buffers.pass.frame.color.download(backend)) sum += static_cast<double>(v);
    return sum;
  };
  const TrainView one{view, nullptr};
  backend.train_step(state, {&one, 1}, step, buffers);
  const double before = brightness();
  for (step.adam.step = 2; step.adam.step <= 40; ++step.adam.step)
    backend.train_step(state, {&one, 1}, step, buffers);
  EXPECT_LT(brightness(), 0.5 * before);
  cudaStreamDestroy(stream);
}

// Other libraries in the same process, such as torch, must be able to use what is no longer needed here.
TEST_F(CudaTest, FreedMemoryGoesBackToTheDevice) {
  constexpr std::size_t kBytes = std::size_t{2} << 30, kKept = std::size_t{512} << 20;
  cuda::CudaBackend backend({});
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "query the memory");
    return free;
  };
  const std::size_t before = free_bytes();
  {
    DeviceArray<std::byte> large;
    large.resize_zero(backend, kBytes);
    ASSERT_LT(free_bytes() + kBytes / 2, before);
  }
  DeviceArray<float> small(backend, std::vector<float>{1});
  small.download(backend);  // waits for the device
  EXPECT_GT(free_bytes() + kKept, before);
}

// GPU memory allocated outside the backend, with bytes around each block that must not change.
class CanaryBlocks {
 public:
  CanaryBlocks() = default;
  CanaryBlocks(const CanaryBlocks&) = delete;
  CanaryBlocks& operator=(const CanaryBlocks&) = delete;
  ~CanaryBlocks() {
    for (const Block& b : blocks_) cudaFree(b.start);
  }
  void* allocate(std::size_t bytes) {
    Block b{nullptr, bytes};
    cuda::check(cudaMalloc(&b.start, bytes + 2 * kAround), "allocate memory");
    cuda::check(cudaMemset(b.start, kCanary, bytes + 2 * kAround), "set memory");
    cuda::check(cudaDeviceSynchronize(), "wait");
    blocks_.push_back(b);
    return static_cast<std::byte*>(b.start) + kAround;
  }
  void expect_intact() const {
    ASSERT_FALSE(blocks_.empty());
    for (const Block& b : blocks_) {
      std::vector<std::uint8_t> all(b.bytes + 2 * kAround);
      cuda::check(cudaMemcpy(all.data(), b.start, all.size(), cudaMemcpyDeviceToHost), "download");
      for (std::size_t i = 0; i < kAround; ++i) {
        ASSERT_EQ(all[i], kCanary) << b.bytes;
        ASSERT_EQ(all[all.size() - 1 - i], kCanary) << b.bytes;
      }
    }
  }

 private:
  static constexpr std::size_t kAround = 4096;
  static constexpr std::uint8_t kCanary = 0xa5;
  struct Block {
    void* start;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
};

TEST_F(CudaTest, StagesStayWithinBorrowedMemory) {
  for (const std::size_t count : {1, 31, 32, 33, 203}) {
    SCOPED_TRACE(count);
    CanaryBlocks blocks;
    expect_stages_stay_within_borrowed_memory("cuda_deterministic", count, blocks);
    blocks.expect_intact();
  }
}

TEST_F(CudaTest, RejectsMissingDevice) {
  const std::string message = error_of([] { make_backend("cuda", {.device = "99"}); });
  EXPECT_NE(message.find("there is no cuda device 99"), std::string::npos) << message;
  EXPECT_FALSE(list_devices("cuda").empty());
}

}  // namespace
}  // namespace stipple
