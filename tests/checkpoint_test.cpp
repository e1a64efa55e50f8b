// SPDX-License-Identifier: Apache-2.0
// Files from which a run cannot be resumed, and names that they may hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "stipple/train/checkpoint_format.h"
#include "tests/helpers/quick_training.h"
#include "tests/helpers/sealed_checkpoint.h"

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
            "the checkpoint has version 9, but this program supports versions up to 7; use a newer program");
  std::string older = good;
  older[8] = 6;
  EXPECT_EQ(error_with(older), "the checkpoint has version 6, which this program does not support");
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

// Scenes with the same number of photos of the same size are not the same scene.
TEST(Checkpoint, RejectsAnotherScene) {
  TestFolder folder;
  auto backend = make_backend("cpu");
  const TrainOptions o = quick(Strategy::kAdc);
  Scene scene = small_scene();
  Trainer(*backend, scene, o).save(folder / "good");
  const auto error_with = [&](auto&& change) {
    Scene changed = scene;
    change(changed);
    Trainer other(*backend, changed, o);
    const std::string message = error_of([&] { other.restore(folder / "good"); });
    return message.substr(std::min(message.size(), (folder / "good").string().size() + 2));
  };
  const std::string about_third =
      "the checkpoint is from a run with another 0003.png, or another camera of it; resume it with the scene "
      "of "
      "that run, or start again";
  EXPECT_EQ(error_with([](Scene&) {}), "");
  EXPECT_EQ(error_with([](Scene& s) { s.views[2].camera.camera_from_world.translation.x += 1; }),
            about_third);
  EXPECT_EQ(error_with([](Scene& s) { s.views[2].image_path = s.views[3].image_path; }), about_third);
  EXPECT_EQ(error_with([](Scene& s) { s.views[2].mask_path = s.views[3].image_path; }), about_third);
  EXPECT_EQ(error_with([](Scene& s) { s.views[2].name = "0003.jpg"; }),
            "the checkpoint is from a run with another 0003.jpg, or another camera of it; resume it with the "
            "scene of that run, or start again");
}

// A checkpoint with other values in its text, and the checksum that belongs to it.
std::string with_values(const std::string& file, const nlohmann::json& values) {
  CheckpointHead head;
  std::memcpy(&head, file.data(), sizeof(head));
  nlohmann::json text = nlohmann::json::parse(file.substr(sizeof(head), head.text_bytes));
  text.merge_patch(values);
  const std::size_t floats = sizeof(head) + head.text_bytes,
                    float_bytes = file.size() - floats - sizeof(std::uint32_t);
  const std::string dumped = text.dump();
  head.text_bytes = static_cast<std::uint32_t>(dumped.size());
  return sealed_checkpoint(head, dumped + file.substr(floats, float_bytes));
}

// JSON has no number for the score of a model that has collapsed.
TEST(Checkpoint, AScoreThatIsNotFiniteCanBeRestored) {
  TestFolder folder;
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, small_scene(), quick(Strategy::kAdc));
  trainer.step();
  trainer.save(folder / "good");
  const nlohmann::json no_scores = {
      {"guard", {{"training_psnr", nullptr}, {"best_psnr", nullptr}, {"best_training_psnr", nullptr}}}};
  folder.write("collapsed", with_values(read_file(folder / "good"), no_scores));
  EXPECT_NO_THROW(trainer.restore(folder / "collapsed"));
  EXPECT_NO_THROW(trainer.save(folder / "again"));
  EXPECT_NO_THROW(trainer.restore(folder / "again"));
}

// Whoever writes a checkpoint also writes its checksum: that alone does not make it one of this run.
TEST(Checkpoint, RejectsNumbersThatNoRunWrites) {
  TestFolder folder;
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, small_scene(), quick(Strategy::kAdc));
  for (int i = 0; i < 5; ++i) trainer.step();
  trainer.save(folder / "good");
  const std::string good = read_file(folder / "good");
  const Gaussians before = trainer.gaussians();
  folder.write("same", with_values(good, {{"step", 5}}));
  trainer.restore(folder / "same");  // the test can write checkpoints

  const std::size_t views = small_scene().views.size();
  const std::vector<std::uint32_t> beyond(views, static_cast<std::uint32_t>(views)), twice(views, 0),
      few(views - 1);
  for (const nlohmann::json& values :
       std::vector<nlohmann::json>{{{"order", beyond}},
                                   {{"order", twice}},
                                   {{"order", few}},
                                   {{"order", "none"}},
                                   {{"position", views + 1}},
                                   {{"position", -1}},
                                   {{"step", std::numeric_limits<int>::min()}},
                                   {{"step", -1}},
                                   {{"step", 1'000'000'000}},
                                   {{"step", std::int64_t{1} << 40}},
                                   {{"step", 1.5}},
                                   {{"step", 1e300}},
                                   {{"adam_step", 6}},
                                   {{"skipped", 6}},
                                   {{"skipped_in_a_row", -3}},
                                   {{"finished_step", 6}},
                                   {{"checked_step", std::numeric_limits<int>::max()}},
                                   {{"polish_from", 6}},
                                   {{"polish_until", -1}},
                                   {{"view_counter", -1}},
                                   {{"sh_degree", 4}},
                                   {{"sh_degree", -1}},
                                   {{"gaussians", std::uint64_t{1} << 62}},
                                   {{"gaussians", -1}},
                                   {{"best_gaussians", std::uint64_t{1} << 63}},
                                   {{"filter", 1}},
                                   {{"guard", {{"best_step", -5}}}},
                                   {{"guard", {{"worse_in_a_row", std::int64_t{1} << 33}}}},
                                   {{"guard", {{"best_psnr", "high"}}}}}) {
    folder.write("bad", with_values(good, values));
    EXPECT_THROW(trainer.restore(folder / "bad"), DamagedCheckpoint) << values;
    EXPECT_EQ(trainer.steps_done(), 5);
    EXPECT_TRUE(same_bits(before, trainer.gaussians()));
  }
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
