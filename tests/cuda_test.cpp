// SPDX-License-Identifier: Apache-2.0
// What only CUDA has: streams of other libraries, and borrowed memory. gpu_test.cpp has what all GPUs share.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/nccl_link.h"
#include "stipple/train/density/gather_in_place.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/borrowed_memory.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/thread_ranks.h"

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

// Two states that train on view 0 and then on view 1, which the first step announces.
class FetchingTest : public CudaTest {
 protected:
  struct Run {
    TrainState state;
    TrainBuffers buffers;
    LossValue loss;
  };

  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    backend_ = std::make_unique<cuda::CudaBackend>(BackendOptions{.deterministic = true});
    if (!backend_->reaches_host()) GTEST_SKIP() << "the device cannot use memory of the host";
    for (int i = 0; i < 2; ++i) {
      views_[i] = {looking_down_z(120 - 40 * i, 70 + 20 * i, 300 + 100 * static_cast<float>(i)), {}};
      views_[i].camera.center_px.x += i == 0 ? 40 : -30;  // so that they share a part of what they show
      views_[i].id = i;
      targets_[i].color.upload(*backend_, random_picture(views_[i].camera, 84));
    }
  }
  Run begin(std::size_t count = 8000) {
    Run run;
    run.state = make_train_state(*backend_, random_cloud(count, 3, 92), Place::kHost);
    step(run, 1, 0);  // to know what the views need
    step(run, 0, 1);
    return run;
  }
  void step(Run& run, int view, int next) {
    TrainStep what;
    what.adam = {
        .mean = 1e-3f, .log_scale = 1e-3f, .logit_opacity = 0.01f, .sh_base = 0.01f, .sh_rest = 1e-3f};
    what.adam.step = ++steps_;
    what.adam.visible_harmonics_only = true;
    what.next_view = &views_[next];
    const TrainView now{views_[view], &targets_[view]};
    run.loss = backend_->train_step(run.state, {&now, 1}, what, run.buffers).views.at(0).loss;
  }
  cuda::FetchedCoefficients& fetched(Run& run) { return backend_->own(run.buffers.pass).fetched; }

  std::unique_ptr<cuda::CudaBackend> backend_;
  View views_[2];
  LossTarget targets_[2];
  int steps_ = 0;
};

TEST_F(FetchingTest, WhatOnlyTheNextViewShowsIsOnTheDevice) {
  Run run = begin();
  EXPECT_EQ(fetched(run).host_state, backend_->context()->host_state());
  const std::vector<VisibleBlock> present = run.buffers.pass.projection.visible.download(*backend_),
                                  there = fetched(run).visible.download(*backend_);
  const std::vector<Vec3f> sh = run.state.gaussians.sh.download(*backend_);
  const std::vector<float> rows = fetched(run).row.download(*backend_);
  std::size_t count = 0;
  for (std::size_t i = 0; i < run.state.gaussians.size(); ++i) {
    const VisibleBlock& block = there[i / VisibleBlock::kGaussians];
    const std::size_t k = i % VisibleBlock::kGaussians;
    if (!block.shows(k)) continue;
    ++count;
    EXPECT_FALSE(present[i / VisibleBlock::kGaussians].shows(k));
    ASSERT_LE((block.row(k) + 1) * 48, rows.size());
    EXPECT_TRUE(std::equal(rows.begin() + static_cast<std::ptrdiff_t>(block.row(k) * 48),
                           rows.begin() + static_cast<std::ptrdiff_t>((block.row(k) + 1) * 48),
                           floats(sh) + i * 48));
  }
  EXPECT_GT(count, 100u);
  step(run, 1, 0);
  const std::vector<VisibleBlock> shown = run.buffers.pass.projection.visible.download(*backend_);
  std::size_t missing = 0, used = 0;  // a step has moved the Gaussians a little
  for (std::size_t i = 0; i < run.state.gaussians.size(); ++i) {
    const std::size_t at = i / VisibleBlock::kGaussians, k = i % VisibleBlock::kGaussians;
    if (!shown[at].shows(k) || present[at].shows(k)) continue;
    ++(there[at].shows(k) ? used : missing);
  }
  EXPECT_GT(used, 100u);
  EXPECT_LT(missing, used / 20);
}

TEST_F(FetchingTest, TheNextStepReadsTheCopies) {
  std::vector<float> losses;
  for (const bool is_spoilt : {false, false, true}) {
    steps_ = 0;
    Run run = begin();
    if (is_spoilt) backend_->fill_zero(*fetched(run).row.memory(), fetched(run).row.size() * sizeof(float));
    step(run, 1, 0);
    losses.push_back(run.loss.total);
  }
  EXPECT_EQ(losses[1], losses[0]);
  EXPECT_NE(losses[2], losses[0]);
}

// A view shows more than there may be copies of: the rest is read in place.
TEST_F(FetchingTest, FewCopiesGiveTheSameBits) {
  views_[1].camera.focal_px = {100, 100};  // shows far more than view 0
  std::vector<Gaussians> results;
  for (const std::size_t mib : {0, 12}) {
    backend_ =
        std::make_unique<cuda::CudaBackend>(BackendOptions{.deterministic = true, .max_bytes = mib << 20});
    for (int i = 0; i < 2; ++i) targets_[i].color.upload(*backend_, random_picture(views_[i].camera, 84));
    steps_ = 0;
    Run run = begin(20000);
    const std::size_t rows = fetched(run).row.size() / 48;
    const std::size_t wanted = fetched(run).visible.download(*backend_).back().end_row();
    const bool is_limited = mib > 0;
    EXPECT_EQ(rows < wanted, is_limited) << rows << " of " << wanted;
    step(run, 1, 0);
    const std::size_t kept = backend_->own(run.buffers.pass).shown_coefficients.size() / 48,
                      shown = run.buffers.pass.projection.visible.download(*backend_).back().end_row();
    EXPECT_EQ(kept < shown, is_limited) << kept << " of " << shown;
    step(run, 0, 1);
    results.push_back(download(*backend_, run.state.gaussians));
    for (LossTarget& target : targets_) target = {};
  }
  EXPECT_TRUE(same_bits(results[0], results[1]));
}

// A step that fails after it has begun to fetch, and a model that goes away right after it.
TEST_F(FetchingTest, AFailedStepLeavesNothingUnderWay) {
  Run run = begin();
  const Gaussians before = download(*backend_, run.state.gaussians);
  TrainStep what;
  what.next_view = &views_[1];
  what.own_loss = [](Backend&, const View&, const Frame&, FrameGradient&) { throw Error("no loss"); };
  const TrainView now{views_[0], &targets_[0]};
  EXPECT_THROW(backend_->train_step(run.state, {&now, 1}, what, run.buffers), Error);
  EXPECT_TRUE(same_bits(download(*backend_, run.state.gaussians), before));
  run.state = {};
  Run again = begin();
  EXPECT_TRUE(std::isfinite(again.loss.total));
}

// Without memory for the copies, a step runs all the same.
TEST_F(FetchingTest, CopiesMakeRoomForTheStep) {
  Run run = begin();
  EXPECT_TRUE(backend_->release_copies(run.buffers.pass));
  EXPECT_FALSE(backend_->release_copies(run.buffers.pass));
  step(run, 1, 0);
  EXPECT_TRUE(fetched(run).row.empty());
  EXPECT_TRUE(backend_->own(run.buffers.pass).shown_coefficients.empty());
  const float loss = run.loss.total;
  backend_->release(run.buffers.pass);
  step(run, 0, 1);
  EXPECT_FALSE(fetched(run).row.empty());
  steps_ = 0;
  Run other = begin();
  step(other, 1, 0);
  EXPECT_EQ(other.loss.total, loss);
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

// Large blocks, which are in pages: they can be resized where they are.
class CudaPagesTest : public CudaTest {
 protected:
  static constexpr std::size_t kMiB = std::size_t{1} << 20;
  using Words = DeviceArray<std::uint32_t>;

  void SetUp() override {
    CudaTest::SetUp();
    if (!IsSkipped() && !cuda::CudaBackend({}).resizes_in_place(32 * kMiB, Place::kDevice))
      GTEST_SKIP() << "the device has no pages";
  }

  static std::vector<std::uint32_t> numbers(std::size_t bytes, std::uint32_t first) {
    std::vector<std::uint32_t> values(bytes / sizeof(std::uint32_t));
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  static void expect_numbers(const Backend& backend, const Words& array, std::size_t bytes,
                             std::uint32_t first) {
    std::vector<std::uint32_t> values = array.download(backend);
    ASSERT_GE(values.size() * sizeof(std::uint32_t), bytes);
    values.resize(bytes / sizeof(std::uint32_t));
    EXPECT_TRUE(values == numbers(bytes, first));
  }
  static bool resize(cuda::CudaBackend& backend, Words& array, std::size_t bytes) {
    return array.resize_in_place(backend, bytes / sizeof(std::uint32_t));
  }
  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    cuda::check(cudaMemGetInfo(&free, &total), "query the memory");
    return free;
  }
};

TEST_F(CudaPagesTest, ABlockGrowsAndShrinksWhereItIs) {
  cuda::CudaBackend backend({});
  Words array(backend, numbers(32 * kMiB, 1));
  const void* address = backend.address_of(*array.memory());
  EXPECT_EQ(backend.used_bytes(), 32 * kMiB);
  ASSERT_TRUE(resize(backend, array, 301 * kMiB));
  EXPECT_EQ(backend.used_bytes(), 302 * kMiB);  // whole pages
  EXPECT_EQ(backend.address_of(*array.memory()), address);
  expect_numbers(backend, array, 32 * kMiB, 1);
  array.upload(backend, numbers(301 * kMiB, 5));
  ASSERT_TRUE(resize(backend, array, 3 * kMiB));
  EXPECT_EQ(backend.used_bytes(), 4 * kMiB);
  ASSERT_TRUE(resize(backend, array, 100 * kMiB));
  EXPECT_EQ(backend.address_of(*array.memory()), address);
  expect_numbers(backend, array, 3 * kMiB, 5);
  array = {};
  EXPECT_EQ(backend.used_bytes(), 0u);
}

TEST_F(CudaPagesTest, SmallBlocksAndBorrowedOnesAreNotResized) {
  cuda::CudaBackend backend({});
  Words small(backend, numbers(kMiB, 1)), large(backend, numbers(32 * kMiB, 2));
  EXPECT_FALSE(resize(backend, small, 2 * kMiB));
  expect_numbers(backend, small, kMiB, 1);
  Words borrowed =
      Words::over(backend, static_cast<std::uint32_t*>(backend.address_of(*large.memory())), large.size());
  EXPECT_FALSE(resize(backend, borrowed, 40 * kMiB));
  expect_numbers(backend, borrowed, 32 * kMiB, 2);
}

// After every second block has been freed, one that is as large as all of these fits.
TEST_F(CudaPagesTest, FreeMemoryIsNotFragmented) {
  constexpr std::size_t kBlock = 18 * kMiB, kBlocks = 20;
  cuda::CudaBackend backend({.max_bytes = kBlocks * kBlock});
  std::vector<Words> blocks;
  for (std::uint32_t i = 0; i < kBlocks; ++i) blocks.emplace_back(backend, numbers(kBlock, i));
  EXPECT_THROW(backend.allocate(kMiB), OutOfMemory);
  const std::size_t free = free_bytes();
  for (std::size_t i = 1; i < kBlocks; i += 2) blocks[i] = {};
  Words large(backend, numbers(kBlocks / 2 * kBlock, 77));
  EXPECT_GE(free_bytes() + 32 * kMiB, free);  // of the same pages
  expect_numbers(backend, large, kBlocks / 2 * kBlock, 77);
  for (std::uint32_t i = 0; i < kBlocks; i += 2) expect_numbers(backend, blocks[i], kBlock, i);
  // And the other way round: many small ones where a large one was.
  large = {};
  for (std::uint32_t i = 1; i < kBlocks; i += 2) blocks[i] = Words(backend, numbers(kBlock, i));
  for (std::uint32_t i = 0; i < kBlocks; ++i) expect_numbers(backend, blocks[i], kBlock, i);
  EXPECT_GE(free_bytes() + 32 * kMiB, free);
}

TEST_F(CudaPagesTest, TheLimitHoldsToTheByte) {
  cuda::CudaBackend backend({.max_bytes = 64 * kMiB + 100});
  Words array(backend, numbers(40 * kMiB, 3));
  EXPECT_TRUE(resize(backend, array, 64 * kMiB));
  EXPECT_EQ(backend.used_bytes(), 64 * kMiB);
  EXPECT_THROW(resize(backend, array, 64 * kMiB + 4), OutOfMemory);  // another page
  EXPECT_THROW(backend.allocate(101), OutOfMemory);
  EXPECT_NE(backend.allocate(100), nullptr);
  EXPECT_EQ(array.size() * sizeof(std::uint32_t), 64 * kMiB);
  EXPECT_EQ(backend.used_bytes(), 64 * kMiB);
  EXPECT_EQ(backend.peak_used_bytes(), 64 * kMiB + 100);
  expect_numbers(backend, array, 40 * kMiB, 3);
}

// The device has no memory left, although the backend's limit allows more.
TEST_F(CudaPagesTest, RunningOutInTheMiddleOfAGrowthChangesNothing) {
  cuda::CudaBackend backend({});
  Words array(backend, numbers(64 * kMiB, 9));
  const void* address = backend.address_of(*array.memory());
  std::vector<void*> others;
  const auto take = [&](std::size_t bytes) {
    void* data = nullptr;
    if (cudaMalloc(&data, bytes) == cudaSuccess)
      others.push_back(data);
    else
      cudaGetLastError();
  };
  ASSERT_GT(free_bytes(), 1024 * kMiB);
  take(free_bytes() - 512 * kMiB);
  while (free_bytes() > 512 * kMiB && others.size() < 100) take(64 * kMiB);
  ASSERT_FALSE(others.empty());
  EXPECT_THROW(resize(backend, array, 2048 * kMiB), OutOfMemory);
  EXPECT_THROW(backend.allocate(2048 * kMiB), OutOfMemory);
  EXPECT_EQ(backend.used_bytes(), 64 * kMiB);
  EXPECT_EQ(backend.address_of(*array.memory()), address);
  expect_numbers(backend, array, 64 * kMiB, 9);
  for (void* data : others) cudaFree(data);
  EXPECT_TRUE(resize(backend, array, 2048 * kMiB));
  expect_numbers(backend, array, 64 * kMiB, 9);
}

// Memory that is freed and used again while the device still works on it.
TEST_F(CudaPagesTest, FreedPagesAreReusedInOrder) {
  cuda::CudaBackend backend({.max_bytes = 512 * kMiB});
  Words source(backend, numbers(96 * kMiB, 11)), target;
  target.resize(backend, source.size());
  for (std::size_t i = 0; i < 200; ++i) {
    Words a, b;
    a.resize(backend, source.size());
    backend.copy(*source.memory(), *a.memory(), 96 * kMiB);
    b.resize(backend, (16 + i % 7 * 16) * kMiB / sizeof(std::uint32_t));
    backend.fill_zero(*b.memory(), b.size() * sizeof(std::uint32_t));
    b = {};
    Words c;
    c.resize(backend, (120 - i % 5 * 20) * kMiB / sizeof(std::uint32_t));
    backend.fill_zero(*c.memory(), c.size() * sizeof(std::uint32_t));
    backend.copy(*a.memory(), *target.memory(), 96 * kMiB);
    a = {};
    resize(backend, c, 200 * kMiB);  // into the pages of the array that has just been copied
    backend.fill_zero(*c.memory(), 200 * kMiB);
  }
  expect_numbers(backend, target, 96 * kMiB, 11);
  expect_numbers(backend, source, 96 * kMiB, 11);
}

TEST_F(CudaPagesTest, ShrinkingGivesMemoryBackToTheDevice) {
  cuda::CudaBackend backend({});
  Words array;
  array.resize(backend, 1024 * kMiB);
  const std::size_t before = free_bytes();
  ASSERT_TRUE(resize(backend, array, 64 * kMiB));
  EXPECT_GT(free_bytes(), before + 3 * 1024 * kMiB);
}

TEST_F(CudaPagesTest, TwoBackendsOnOneDeviceAreIndependent) {
  auto a = std::make_unique<cuda::CudaBackend>(BackendOptions{}),
       b = std::make_unique<cuda::CudaBackend>(BackendOptions{});
  Words of_a(*a, numbers(32 * kMiB, 21)), of_b(*b, numbers(32 * kMiB, 22));
  for (std::size_t mib = 48; mib <= 256; mib += 16) {
    ASSERT_TRUE(resize(*a, of_a, mib * kMiB));
    ASSERT_TRUE(resize(*b, of_b, (304 - mib) * kMiB));
  }
  expect_numbers(*a, of_a, 32 * kMiB, 21);
  expect_numbers(*b, of_b, 32 * kMiB, 22);
  a.reset();  // the array outlives its backend
  of_b = {};
  of_a = {};
  Words again(*b, numbers(64 * kMiB, 23));
  expect_numbers(*b, again, 64 * kMiB, 23);
}

// With a limit that leaves no room for a second copy of the array.
TEST_F(CudaPagesTest, ALargeArrayIsGatheredInPlace) {
  constexpr std::size_t kBefore = 400'000, kAfter = 440'000, kRow = 48;
  constexpr std::size_t kArray = kAfter * kRow * sizeof(std::uint32_t), kPages = 8 * kMiB;
  cuda::CudaBackend backend({.max_bytes = kArray + kAfter * (sizeof(std::uint32_t) + 32) + kPages});
  const std::vector<std::uint32_t> values = numbers(kBefore * kRow * sizeof(std::uint32_t), 1);
  std::vector<std::uint32_t> which(kAfter), expected;
  for (std::size_t i = 0; i < kAfter; ++i) {
    which[i] = i % 1000 == 3 ? Backend::kNoRow : static_cast<std::uint32_t>(i * 7919 % kBefore);
    for (std::size_t k = 0; k < kRow; ++k)
      expected.push_back(which[i] == Backend::kNoRow ? 0 : values[which[i] * kRow + k]);
  }
  Words array(backend, values);
  gather_in_place(backend, array, Words(backend, which), kRow);
  EXPECT_TRUE(array.download(backend) == expected);
}

TEST_F(CudaPagesTest, ALargeArrayIsWidenedInPlace) {
  constexpr std::size_t kCount = 8 * kMiB;
  cuda::CudaBackend backend({.max_bytes = 72 * kMiB});
  const std::vector<std::uint32_t> values = numbers(kCount * sizeof(std::uint32_t), 1);
  Words array(backend, values);
  widen_in_place(backend, array, 1, 2);
  const std::vector<std::uint32_t> wide = array.download(backend);
  ASSERT_EQ(wide.size(), 2 * kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(wide[2 * i], values[i]);
    ASSERT_EQ(wide[2 * i + 1], 0u);
  }
}

TEST_F(CudaTest, RejectsMissingDevice) {
  const std::string message = error_of([] { make_backend("cuda", {.device = "99"}); });
  EXPECT_NE(message.find("there is no cuda device 99"), std::string::npos) << message;
  EXPECT_FALSE(list_devices("cuda").empty());
}

// NCCL does not accept two ranks on one GPU, so that this is all that can be tested on one.
TEST_F(CudaTest, OneRankReachesItselfWithNccl) {
  if (!cuda::Nccl::loaded()) GTEST_SKIP() << "NCCL is not installed";
  cuda::CudaBackend backend({});
  const auto link = cuda::make_nccl_link(backend.context(), backend, one_rank());
  ASSERT_TRUE(link);
  EXPECT_EQ(link->name(), "NCCL");
  for (int i = 0; i < 3; ++i) {
    std::vector<Vec3f> rows(100'000 + i);
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = Vec3f(static_cast<float>(k), 1, 2);
    std::vector<DeviceArray<Vec3f>> to;
    to.emplace_back(backend, rows);
    DeviceArray<Vec3f> joined;
    EXPECT_EQ(link->join(to, joined), std::vector<std::size_t>{rows.size()});
    const std::vector<Vec3f> arrived = joined.download(backend);
    for (std::size_t k = 0; k < rows.size(); ++k) ASSERT_EQ(arrived[k].x, static_cast<float>(k));
    std::vector<DeviceArray<Vec3f>> back(1);
    back[0].resize(backend, rows.size());
    const std::size_t count = rows.size();
    link->split(joined, {&count, 1}, back);
    EXPECT_EQ(back[0].download(backend).back().x, static_cast<float>(count - 1));
  }
}

TEST_F(CudaTest, RanksThatShareAGpuExchangeOverTheHost) {
  run_as_ranks(2, [](Ranks& ranks) {
    cuda::CudaBackend backend({});
    EXPECT_EQ(backend.link(ranks)->name(), "the memory of the hosts");
  });
}

}  // namespace
}  // namespace stipple
