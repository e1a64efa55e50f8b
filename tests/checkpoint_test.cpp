// SPDX-License-Identifier: Apache-2.0
// Files from which a run cannot be resumed, and names that they may hold.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/helpers/quick_training.h"

namespace stipple {
namespace {

TEST(Checkpoint, RejectsDamagedFilesAndLeavesTheTrainerUnchanged) {
  TestFolder folder;
  auto backend = make_backend("cpu");
  TrainOptions o = quick(Strategy::kAdc);
  Trainer trainer(*backend, small_scene(), o);
  for (int i = 0; i < 5; ++i) trainer.step();
  trainer.save(folder / "good");
  const std::string good = read_file(folder / "good");
  const Gaussians before = trainer.gaussians();
  const auto error_with = [&](const std::string& content) {
    folder.write("bad", content);
    std::string message = error_of([&] { trainer.restore(folder / "bad"); });
    EXPECT_TRUE(same_bits(before, trainer.gaussians()));
    return message.substr(std::min(message.size(), (folder / "bad").string().size() + 2));
  };
  EXPECT_EQ(error_with(""), "this file is not a Stipple checkpoint");
  EXPECT_EQ(error_with("hello, I am some other file"), "this file is not a Stipple checkpoint");
  for (std::size_t length :
       {std::size_t{8}, std::size_t{19}, std::size_t{30}, good.size() / 2, good.size() - 1})
    EXPECT_EQ(error_with(good.substr(0, length)), "the checkpoint is truncated and cannot be used") << length;
  EXPECT_EQ(error_with(good + "x"), "the checkpoint has extra data at its end and cannot be used");
  std::string newer = good;
  newer[8] = 9;
  EXPECT_EQ(error_with(newer),
            "the checkpoint has version 9, but this program supports versions up to 4; use a newer program");
  std::string flipped = good;
  flipped[good.size() - 100] ^= 1;
  EXPECT_EQ(error_with(flipped), "the checkpoint is damaged (its checksum is wrong) and cannot be used");
  for (std::size_t at = 0; at < good.size(); at += at < 1000 ? 1 : good.size() / 50) {
    flipped = good;
    flipped[at] ^= static_cast<char>(1 << at % 8);
    EXPECT_NE(error_with(flipped), "") << at;
  }
  o.seed = 5;
  Trainer other(*backend, small_scene(), o);
  EXPECT_EQ(
      error_of([&] { other.restore(folder / "good"); }),
      (folder / "good").string() +
          ": the checkpoint is from a run with seed 1, but this run has seed 5; resume it with the scene and "
          "the options of that run");
  EXPECT_EQ(error_of([&] { trainer.save(folder / "no/such/folder"); }).empty(), false);
  trainer.restore(folder / "good");
}

TEST(Checkpoint, NamesOfPhotosNeedNotBeUtf8) {
  TestFolder folder;
  auto backend = make_backend("cpu");
  Scene scene = small_scene();
  scene.views[0].name = "caf\xe9.png";  // Latin-1
  Trainer trainer(*backend, scene, quick(Strategy::kAdc));
  trainer.step();
  trainer.save(folder / "checkpoint");
  trainer.restore(folder / "checkpoint");
  EXPECT_EQ(trainer.steps_done(), 1);
}

}  // namespace
}  // namespace stipple
