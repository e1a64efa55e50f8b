// SPDX-License-Identifier: Apache-2.0
// What only Vulkan has: command buffers, split arrays, loss of the device, and kernels in SPIR-V.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "stipple/backend/vulkan/runtime/shader.h"
#include "stipple/backend/vulkan/vulkan_backend.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

// The names contain "vulkan", by which vulkan_suite.sh finds them.
class vulkan_Backend : public testing::Test {
 protected:
  void SetUp() override { STIPPLE_SKIP_UNUSABLE("vulkan"); }
};

struct Training {
  TrainState state;
  LossTarget target;
  TrainBuffers buffers;
  TrainStep step;
  View view{looking_down_z(80, 60, 70), {}};

  explicit Training(Backend& backend) {
    state = make_train_state(backend, random_cloud(500, 1, 90));
    target.color.upload(backend, random_picture(view.camera, 91));
    step.adam = kTestRates;
    step.noise = 1e-3f;
    view.id = 0;
  }
  PassResult run(Backend& backend) { return step_on(backend, state, view, target, step, buffers); }
};

TEST_F(vulkan_Backend, AStepIsOneCommandBuffer) {
  vulkan::VulkanBackend backend({});
  Training training(backend);
  training.run(backend);  // learns what capacity the view needs
  for (int i = 0; i < 3; ++i) {
    const int before = backend.context().submit_count();
    training.run(backend);
    EXPECT_EQ(backend.context().submit_count(), before + 1);
  }
}

// Whatever is under way, a lost device is reported as such, and everything can still be destroyed.
TEST_F(vulkan_Backend, ALostDeviceIsReported) {
  for (int submits = 0; submits < 3; ++submits) {
    SCOPED_TRACE(submits);
    vulkan::VulkanBackend backend({});
    Training training(backend);
    training.run(backend);
    backend.context().lose_after(submits);
    for (int i = 0; i < submits; ++i) EXPECT_TRUE(training.run(backend).is_finite);
    EXPECT_THROW(training.run(backend), DeviceLost);
    EXPECT_THROW(training.run(backend), DeviceLost);  // from now on, always
    EXPECT_THROW(training.state.gaussians.mean.download(backend), DeviceLost);
    const std::string message = error_of([&] { training.run(backend); });
    EXPECT_NE(message.find("the GPU has stopped responding"), std::string::npos) << message;
  }
}

TEST_F(vulkan_Backend, AnArrayThatFitsNoBindingIsAnError) {
  vulkan::VulkanBackend backend({}, {.split_bytes = 4096});  // four pieces have 256 splats
  const CloudOptions all_shown{.spread = 0.5f};
  const DeviceGaussians few = upload(backend, random_cloud(250, 0, 92, all_shown)),
                        many = upload(backend, random_cloud(300, 0, 92, all_shown));
  const View view{looking_down_z(64, 48, 60), {}};
  Pass pass;
  forward(backend, few, {}, view, pass);
  const std::string message = error_of([&] { forward(backend, many, {}, view, pass); });
  EXPECT_NE(message.find("exceeds the"), std::string::npos) << message;
  EXPECT_NE(message.find("fewer Gaussians"), std::string::npos) << message;
}

TEST_F(vulkan_Backend, RejectsAMissingDevice) {
  const std::string message = error_of([] { make_backend("vulkan:99"); });
  EXPECT_NE(message.find("99"), std::string::npos) << message;
  EXPECT_FALSE(list_devices("vulkan").empty());
}

// On a machine whose only Vulkan device is the CPU, the CPU backend is faster.
TEST_F(vulkan_Backend, BestIsNeverSoftware) {
  if (!vulkan::Instance::get().adapters()[0].is_software) GTEST_SKIP() << "there is a GPU";
  EXPECT_NE(make_backend("best")->name(), "vulkan");
}

// A step that is rejected leaves nothing behind in the pass.
TEST_F(vulkan_Backend, ARejectedStepDoesNotAffectTheNext) {
  vulkan::VulkanBackend backend({});
  Training clean(backend), spoilt(backend);
  spoilt.step.own_loss = [](Backend& b, const View&, const Frame&, FrameGradient& dL) {
    std::vector<float> values = dL.color.download(b);
    values[1000] = std::numeric_limits<float>::infinity();
    dL.color.upload(b, values);
  };
  EXPECT_FALSE(spoilt.run(backend).is_finite);
  spoilt.step.own_loss = {};
  EXPECT_TRUE(spoilt.run(backend).is_finite);
  clean.run(backend);
  EXPECT_LT(relative_difference(download(backend, spoilt.state.gaussians).mean,
                                download(backend, clean.state.gaussians).mean),
            1e-6);
}

// Sums of many tiles can overflow although each is finite. No view may then change anything.
TEST_F(vulkan_Backend, AnOverflowingSumIsNotFinite) {
  vulkan::VulkanBackend backend({});
  Training training(backend);
  training.step.own_loss = [](Backend& b, const View&, const Frame& frame, FrameGradient& dL) {
    dL.color.upload(b, std::vector<float>(frame.color.size(), 1e31f));
  };
  const std::vector<Vec2f> before = training.state.statistics.download(backend);
  EXPECT_FALSE(training.run(backend).is_finite);
  EXPECT_TRUE(same_bits(before, training.state.statistics.download(backend)));
}

// Results do not depend on where arrays end: one Gaussian more or less than fills work groups and windows.
TEST_F(vulkan_Backend, AnyNumberOfGaussiansGivesTheResultOfTheCpu) {
  const View view{looking_down_z(40, 30, 40), {}};
  for (const std::size_t count : {1, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 2047, 2049}) {
    SCOPED_TRACE(count);
    const Gaussians g = random_cloud(count, 0, 93);
    Rendering ours("vulkan", g, view), expected("cpu", g, view);
    EXPECT_LT(relative_difference(ours.frame.color.download(*ours.backend),
                                  expected.frame.color.download(*expected.backend)),
              1e-5);
    EXPECT_EQ(ours.bins.splat_from_slot.download(*ours.backend).size(),
              expected.bins.splat_from_slot.download(*expected.backend).size());
  }
}

TEST(VulkanShader, DecoratesEveryArithmeticInstruction) {
  ASSERT_FALSE(vulkan::all_shaders().empty());
  std::set<std::string_view> names;
  for (const vulkan::Shader& shader : vulkan::all_shaders()) {
    EXPECT_TRUE(names.insert(shader.name).second) << shader.name;
    EXPECT_EQ(vulkan::find_shader(shader.name).words.data(), shader.words.data());
    EXPECT_LE(vulkan::binding_count(shader.words), 28u) << shader.name;
    EXPECT_GE(vulkan::binding_count(shader.words), 1u) << shader.name;
  }
  for (const vulkan::Shader& shader : vulkan::all_shaders()) {
    const std::vector<std::uint32_t> words = vulkan::without_contraction(shader.words);
    std::set<std::uint32_t> arithmetic, decorated;
    for (std::size_t at = 5; at < words.size(); at += words[at] >> 16) {
      const std::uint32_t op = words[at] & 0xffff;
      // Addition to modulo in floats, and products of vectors and matrices (SPIR-V specification,
      // section 3.42).
      if (std::set<std::uint32_t>{127, 129, 131, 133, 136, 140, 141}.contains(op) || (op >= 142 && op <= 148))
        arithmetic.insert(words[at + 2]);
      if (op == 71 && words[at + 2] == 42) decorated.insert(words[at + 1]);  // OpDecorate, NoContraction
    }
    EXPECT_EQ(arithmetic, decorated) << shader.name;
  }
  EXPECT_THROW(vulkan::find_shader("no such kernel"), std::out_of_range);
}

}  // namespace
}  // namespace stipple
