// SPDX-License-Identifier: Apache-2.0
// The memory of the CUDA backend without a GPU, on the fake of helpers/fake_cuda.h. A program of its own,
// since the fake replaces CUDA. cuda_test.cpp tests the same on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "stipple/backend/cuda/runtime/device_memory.h"
#include "stipple/core/random.h"
#include "tests/helpers/fake_cuda.h"

namespace stipple {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class FakeDevice : public Device {
 public:
  explicit FakeDevice(std::size_t max_bytes) : context_(std::make_shared<cuda::CudaContext>(0, max_bytes)) {}

  std::unique_ptr<Memory> allocate(std::size_t bytes) override {
    return std::make_unique<cuda::CudaMemory>(context_, bytes);
  }
  std::unique_ptr<Memory> allocate_on_host(std::size_t bytes) override {
    return std::make_unique<cuda::CudaMemory>(context_, bytes, Place::kHost);
  }
  bool reaches_host() const override { return context_->host_ranges() != nullptr; }
  void upload(std::span<const std::byte> from, Memory& to) override {
    std::memcpy(data(to), from.data(), from.size());
  }
  void download(const Memory& from, std::span<std::byte> to) const override {
    std::memcpy(to.data(), data(from), to.size());
  }
  void fill_zero(Memory& memory, std::size_t bytes) override { std::memset(data(memory), 0, bytes); }
  void copy(const Memory& from, Memory& to, std::size_t bytes) override {
    std::memcpy(data(to), data(from), bytes);
  }
  bool resize_in_place(Memory& memory, std::size_t bytes) override {
    return static_cast<cuda::CudaMemory&>(memory).resize(bytes);
  }
  std::size_t used_bytes() const override { return context_->used_bytes(); }

  const cuda::HostRanges& host_ranges() const { return *context_->host_ranges(); }
  static void* data(const Memory& memory) { return static_cast<const cuda::CudaMemory&>(memory).data(); }

 private:
  std::shared_ptr<cuda::CudaContext> context_;
};

// An array with a number in every 4 kB, from which it can be told apart.
struct Marked {
  static constexpr std::size_t kStep = 1024;

  DeviceArray<std::uint32_t> array;
  std::uint32_t mark = 0;
  std::size_t marked = 0;  // elements

  std::uint32_t* data() { return static_cast<std::uint32_t*>(FakeDevice::data(*array.memory())); }
  void write() {
    for (std::size_t i = 0; i < array.size(); i += kStep) data()[i] = mark + static_cast<std::uint32_t>(i);
    marked = array.size();
  }
  bool is_intact() {
    for (std::size_t i = 0; i < std::min(marked, array.size()); i += kStep)
      if (data()[i] != mark + static_cast<std::uint32_t>(i)) return false;
    return true;
  }
};

enum class Trouble { kLimit, kSmallDevice, kFailures };

class PagePoolTest : public testing::TestWithParam<Trouble> {
 protected:
  void TearDown() override {
    fake_cuda::fail_no_call();
    fake_cuda::set_device_bytes(std::numeric_limits<std::size_t>::max());
  }
};
INSTANTIATE_TEST_SUITE_P(, PagePoolTest,
                         testing::Values(Trouble::kLimit, Trouble::kSmallDevice, Trouble::kFailures));

// Arrays come, grow, shrink and go at random. Whatever fails, it happens entirely or not at all, and no array
// notices the others.
TEST_P(PagePoolTest, ArraysOfAllSizesLeaveEachOtherAlone) {
  constexpr std::size_t kLimit = 200 * kMiB, kDevice = 150 * kMiB;
  if (GetParam() == Trouble::kSmallDevice) fake_cuda::set_device_bytes(kDevice);
  Random random(1);
  int failures = 0, resized = 0;
  {
    FakeDevice device(kLimit);
    std::vector<Marked> all;
    const auto change_something = [&](std::size_t size) {
      const std::uint64_t what = random.below(10);
      if (all.empty() || what < 3) {
        Marked made;
        made.mark = static_cast<std::uint32_t>(random.below(1u << 30));
        made.array.resize(device, size);
        made.write();
        all.push_back(std::move(made));
        return;
      }
      std::swap(all[random.below(all.size())], all.back());
      Marked& one = all.back();
      if (what < 7) {
        const void* address = one.data();
        if (one.array.resize_in_place(device, size)) {
          ++resized;
          EXPECT_TRUE(one.is_intact());
          one.write();
        }
        EXPECT_EQ(one.data(), address);
      } else {
        all.pop_back();
      }
    };
    for (int i = 0; i < 400; ++i) {
      const std::size_t used = device.used_bytes();
      const std::size_t most = random.below(4) == 0 ? 16 : 64;  // MiB; less than 16 are not paged
      const std::size_t size = random.below(most * kMiB / sizeof(std::uint32_t)) + 1;
      if (GetParam() == Trouble::kFailures) fake_cuda::fail_call(random.below(60), random.below(2) == 0);
      try {
        change_something(size);
      } catch (const Error&) {
        ++failures;
        EXPECT_EQ(device.used_bytes(), used);
      }
      ASSERT_TRUE(std::all_of(all.begin(), all.end(), [](Marked& one) { return one.is_intact(); }));
      EXPECT_LE(device.used_bytes(), kLimit);
      if (GetParam() == Trouble::kSmallDevice) {
        EXPECT_LE(fake_cuda::counts().device_bytes, kDevice);
      }
    }
    all.clear();
    EXPECT_EQ(device.used_bytes(), 0u);
  }
  EXPECT_GT(failures, 5);
  EXPECT_GT(resized, 20);
  const fake_cuda::Counts left = fake_cuda::counts();
  EXPECT_EQ(left.device_bytes + left.pages + left.mapped + left.reserved_ranges + left.small_blocks, 0u);
}

// Buffers that are freed and made again, as those of a step around a refinement, cost neither waits nor
// pages.
TEST(PagePool, ABlockOfTheSameSizeIsTakenOverAsItIs) {
  FakeDevice device(1024 * kMiB);
  std::vector<DeviceArray<std::uint32_t>> state(1), buffers(3);
  state[0].resize(device, 64 * kMiB);  // keeps enough memory in use that nothing is given back
  const auto make = [&](std::size_t more) {
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i].resize(device, (6 + 2 * i) * kMiB + more);
  };
  make(0);
  const fake_cuda::Counts before = fake_cuda::counts();
  for (int i = 0; i < 10; ++i) {
    for (auto& buffer : buffers) buffer = {};
    make(0);
  }
  EXPECT_EQ(fake_cuda::counts().waits, before.waits);
  EXPECT_EQ(fake_cuda::counts().pages, before.pages);
  for (auto& buffer : buffers) buffer = {};
  make(1);  // a page more each
  EXPECT_EQ(fake_cuda::counts().pages, before.pages + 3);
  EXPECT_EQ(fake_cuda::counts().waits, before.waits);
}

TEST(PagePool, FreedMemoryGoesBackToTheDevice) {
  FakeDevice device(2048 * kMiB);
  {
    DeviceArray<std::uint32_t> large;
    large.resize(device, 256 * kMiB);
    EXPECT_EQ(fake_cuda::counts().device_bytes, 1024 * kMiB);
    ASSERT_TRUE(large.resize_in_place(device, 16 * kMiB));
    EXPECT_LE(fake_cuda::counts().device_bytes, (64 + 32 + 256) * kMiB);
  }
  EXPECT_LE(fake_cuda::counts().device_bytes, 256 * kMiB);
}

// Memory of the host grows and shrinks where it is, keeps its contents, and is registered piece by piece.
TEST(HostRanges, GrowAndShrinkWhereTheyAre) {
  FakeDevice device(64 * kMiB);
  ASSERT_TRUE(device.reaches_host());
  Marked one, other;
  for (Marked* each : {&one, &other}) {
    each->mark = each == &one ? 17 : 4711;
    each->array.set_place(Place::kHost);
    each->array.resize(device, 5 * kMiB / 4);
    each->write();
  }
  EXPECT_EQ(device.used_bytes(), 0u);
  EXPECT_EQ(fake_cuda::counts().registered_bytes, 2 * 6 * kMiB);
  const void* address = one.data();
  std::size_t waits = fake_cuda::counts().waits;
  for (const std::size_t mib : {6, 9, 30, 29, 12, 11, 100, 3}) {
    ASSERT_TRUE(one.array.resize_in_place(device, mib * kMiB / 4));
    EXPECT_EQ(one.data(), address);
    EXPECT_TRUE(one.is_intact()) << mib;
    EXPECT_TRUE(other.is_intact()) << mib;
    one.write();
  }
  EXPECT_GT(fake_cuda::counts().waits, waits);  // before memory that a kernel may use goes
  // The first piece stays.
  EXPECT_EQ(fake_cuda::counts().registered_bytes, 2 * 6 * kMiB);
  one.array.release();
  EXPECT_EQ(fake_cuda::counts().registrations, 1u);
  EXPECT_TRUE(other.is_intact());
}

TEST(HostRanges, AreMadeOfPieces) {
  FakeDevice device(64 * kMiB);
  DeviceArray<std::byte> array;
  array.set_place(Place::kHost);
  array.resize(device, 4 * kMiB);
  ASSERT_TRUE(array.resize_in_place(device, 5 * kMiB));
  const auto* start = static_cast<const std::byte*>(FakeDevice::data(*array.memory()));
  const cuda::HostRanges& ranges = device.host_ranges();
  EXPECT_EQ(ranges.bytes_left_in_piece(start), 4 * kMiB);
  EXPECT_EQ(ranges.bytes_left_in_piece(start + kMiB), 3 * kMiB);
  EXPECT_EQ(ranges.bytes_left_in_piece(start + 4 * kMiB), 2 * kMiB);
  EXPECT_TRUE(ranges.contains(start + 6 * kMiB - 1));
  EXPECT_FALSE(ranges.contains(start + 6 * kMiB));
  EXPECT_FALSE(ranges.contains(start - 1));
  EXPECT_EQ(ranges.bytes_left_in_piece(&device), std::numeric_limits<std::size_t>::max());
}

// Where the host has no memory left, nothing changes.
TEST(HostRanges, AFailureChangesNothing) {
  FakeDevice device(64 * kMiB);
  const std::size_t before = fake_cuda::counts().registrations;
  Marked one;
  one.mark = 3;
  one.array.set_place(Place::kHost);
  fake_cuda::fail_call(1, true);
  EXPECT_THROW(one.array.resize(device, kMiB), OutOfMemory);
  EXPECT_EQ(fake_cuda::counts().registrations, before);
  one.array.resize(device, kMiB);
  one.write();
  fake_cuda::fail_call(1, true);
  EXPECT_THROW(one.array.resize_in_place(device, 2 * kMiB), OutOfMemory);
  fake_cuda::fail_no_call();
  EXPECT_EQ(one.array.size(), kMiB);
  EXPECT_TRUE(one.is_intact());
  EXPECT_THROW(one.array.resize_in_place(device, std::size_t{1} << 60), OutOfMemory);
  EXPECT_TRUE(one.is_intact());
  ASSERT_TRUE(one.array.resize_in_place(device, 2 * kMiB));
  EXPECT_TRUE(one.is_intact());
}

// From the device to the host and back.
TEST(HostRanges, ArraysMoveThere) {
  FakeDevice device(64 * kMiB);
  Marked one;
  one.mark = 99;
  one.array.resize(device, 5 * kMiB);
  one.write();
  EXPECT_GT(device.used_bytes(), 0u);
  one.array.move_to(device, Place::kHost);
  EXPECT_EQ(one.array.place(), Place::kHost);
  EXPECT_EQ(device.used_bytes(), 0u);
  EXPECT_TRUE(one.is_intact());
  one.array.move_to(device, Place::kDevice);
  EXPECT_EQ(device.used_bytes(), 20 * kMiB);
  EXPECT_TRUE(one.is_intact());
  EXPECT_EQ(fake_cuda::counts().registrations, 0u);
}

}  // namespace
}  // namespace stipple
