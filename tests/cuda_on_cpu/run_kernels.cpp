// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_cpu/run_kernels.h"

#include <boost/context/fiber.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "tests/cuda_on_cpu/streams.h"

namespace cuda_on_cpu {

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "a kernel does what a GPU does not: %s (block %u, thread %u)\n", what, block_index.x,
               thread_index.x);
  std::abort();
}

// Lanes meet here. A lane that arrives waits until all have; then the next meeting begins.
struct Meeting {
  int wanted = 0, arrived = 0;
  std::size_t number = 0;  // of the meetings that are over

  bool arrive() {  // whether that was the last one
    if (++arrived < wanted) return false;
    arrived = 0;
    ++number;
    return true;
  }
};

struct WarpState {
  Meeting meeting;
  Operation operation{};
  // Two, because a lane may come to the next exchange while others still read the values of this one.
  Exchanged values[2];
};

struct LaneState {
  boost::context::fiber fiber;
  const Meeting* waits_for = nullptr;
  std::size_t until = 0;  // the number of meetings
  bool is_done = true;

  bool can_run() const { return !is_done && (!waits_for || waits_for->number >= until); }
};

// What runs the blocks of one thread of the CPU, one after another.
class Runner {
 public:
  void run(const Configuration& configuration, const std::function<void()>& kernel);
  void wait_for(Meeting& meeting);
  WarpState& warp() { return warps_[thread_index.x / kWarp]; }
  Meeting& block() { return block_; }
  bool vote(bool condition);
  unsigned char* shared() { return shared_.data(); }

 private:
  void make_lanes(std::size_t count);
  void run_block(std::size_t lanes);
  bool run_warp(std::size_t first, std::size_t end);
  boost::context::fiber run_lane(boost::context::fiber&& scheduler);
  void leave();

  const std::function<void()>* kernel_ = nullptr;
  boost::context::fiber scheduler_;
  LaneState* lane_ = nullptr;
  std::vector<std::unique_ptr<LaneState>> lanes_;
  std::vector<WarpState> warps_;
  Meeting block_;
  bool votes_[2] = {true, true};
  std::vector<unsigned char> shared_;
};

thread_local Runner runner;

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

// A lane's fiber runs one kernel after another.
boost::context::fiber Runner::run_lane(boost::context::fiber&& scheduler) {
  scheduler_ = std::move(scheduler);
  for (;;) {
    (*kernel_)();
    lane_->is_done = true;
    leave();
  }
}

void Runner::leave() {
  LaneState* const mine = lane_;
  const uint3 index = thread_index;
  scheduler_ = std::move(scheduler_).resume();
  lane_ = mine;
  thread_index = index;
}

void Runner::make_lanes(std::size_t count) {
  while (lanes_.size() < count) {
    lanes_.push_back(std::make_unique<LaneState>());
    lanes_.back()->fiber = boost::context::fiber(
        std::allocator_arg, boost::context::fixedsize_stack(kStackBytes),
        [this](boost::context::fiber&& scheduler) { return run_lane(std::move(scheduler)); });
  }
}

void Runner::run(const Configuration& configuration, const std::function<void()>& kernel) {
  const dim3 blocks = configuration.blocks;
  const std::size_t lanes = configuration.threads.x;
  if (lanes == 0 || lanes > 1024 || lanes % kWarp != 0 ||
      configuration.threads.y * configuration.threads.z != 1)
    fail("a block of this size");
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) fail("a grid without blocks");
  make_lanes(lanes);
  warps_.resize(lanes / kWarp);
  kernel_ = &kernel;
  grid_size = blocks;
  block_size = configuration.threads;
  for (unsigned z = 0; z < blocks.z; ++z)
    for (unsigned y = 0; y < blocks.y; ++y)
      for (unsigned x = 0; x < blocks.x; ++x) {
        block_index = {x, y, z};
        shared_.assign(configuration.shared_bytes, 0xcd);
        run_block(lanes);
      }
}

void Runner::run_block(std::size_t lanes) {
  for (WarpState& warp : warps_) warp.meeting = {kWarp, 0, 0};
  block_ = {static_cast<int>(lanes), 0, 0};
  votes_[0] = votes_[1] = true;
  for (std::size_t i = 0; i < lanes; ++i) {
    lanes_[i]->is_done = false;
    lanes_[i]->waits_for = nullptr;
  }
  for (bool is_done = false; !is_done;) {
    bool has_run = false;
    for (std::size_t first = 0; first < lanes; first += kWarp)
      has_run = run_warp(first, first + kWarp) || has_run;
    is_done = std::all_of(lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(lanes),
                          [](const auto& lane) { return lane->is_done; });
    if (!is_done && !has_run) fail("lanes wait for others in vain");
  }
}

// Until no lane of the warp can go on. False if none could at all.
bool Runner::run_warp(std::size_t first, std::size_t end) {
  bool has_run = false;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t i = first; i < end; ++i) {
      if (!lanes_[i]->can_run()) continue;
      goes_on = has_run = true;
      lane_ = lanes_[i].get();
      thread_index = {static_cast<unsigned>(i), 0, 0};
      lane_->fiber = std::move(lane_->fiber).resume();
      // A lane that has returned is no longer waited for at barriers of the block.
      if (lanes_[i]->is_done && --block_.wanted > 0 && block_.arrived == block_.wanted) {
        block_.arrived = 0;
        ++block_.number;
      }
    }
  }
  return has_run;
}

void Runner::wait_for(Meeting& meeting) {
  const std::size_t until = meeting.number + 1;
  if (meeting.arrive()) return;
  lane_->waits_for = &meeting;
  lane_->until = until;
  leave();
  lane_->waits_for = nullptr;
}

bool Runner::vote(bool condition) {
  const std::size_t number = block_.number;
  bool& all = votes_[number % 2];
  if (block_.arrived == 0) all = true;
  all = all && condition;
  wait_for(block_);
  return votes_[number % 2];
}

}  // namespace

void run(const Configuration& configuration, std::function<void()> kernel) {
  enqueue(configuration.stream, [=] { runner.run(configuration, kernel); });
}

unsigned char* shared_bytes() { return runner.shared(); }

const Exchanged& exchange(Operation operation, unsigned mask, const void* value, std::size_t bytes) {
  if (mask != 0xffffffffu) fail("an operation of a part of a warp");
  WarpState& warp = runner.warp();
  if (warp.meeting.arrived > 0 && warp.operation != operation)
    fail("the lanes of a warp call different operations");
  warp.operation = operation;
  Exchanged& values = warp.values[warp.meeting.number % 2];
  if (bytes > 0) std::memcpy(values[lane()], value, bytes);
  runner.wait_for(warp.meeting);
  return values;
}

void wait_for_block() { runner.wait_for(runner.block()); }

bool is_true_in_block(bool condition) { return runner.vote(condition); }

// See backend/cuda/shared/tensor_core.cuh. The factors have the 11 bits of TF32 already, but for those that
// the low parts lose.
void multiply_add(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
  struct Factors {
    float a[4], b[2];
  } mine;
  std::copy(a, a + 4, mine.a);
  std::copy(b, b + 2, mine.b);
  static_assert(sizeof(Factors) <= kMostExchanged);
  const Exchanged& all = exchange(Operation::kMultiply, 0xffffffffu, &mine, sizeof(mine));
  const auto tf32 = [](float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000u); };
  const int g = lane() / 4, t = lane() % 4;
  for (int k = 0; k < 8; ++k) {
    Factors left, right[2];
    std::memcpy(&left, all[4 * g + k % 4], sizeof(Factors));
    for (int i = 0; i < 2; ++i) std::memcpy(&right[i], all[4 * (2 * t + i) + k % 4], sizeof(Factors));
    for (int i = 0; i < 4; ++i) c[i] += tf32(left.a[k / 4 * 2 + i / 2]) * tf32(right[i % 2].b[k / 4]);
  }
}

}  // namespace cuda_on_cpu
