// SPDX-License-Identifier: Apache-2.0
#include "stipple/options/resolve.h"

#include <gtest/gtest.h>

#include "stipple/core/error.h"

namespace stipple {
namespace {

RunOptions given(OptionTexts texts) { return resolve(GivenOptions{std::move(texts), {}, {}}); }

std::string error_of(const GivenOptions& options) {
  try {
    resolve(options);
  } catch (const OptionError& e) {
    EXPECT_EQ(std::string(e.what()), e.option() + " " + e.problem());
    return e.what();
  }
  return "";
}

TEST(Resolve, WithoutOptionsGivesTheDefaults) {
  const RunOptions o = resolve({});
  const TrainOptions defaults;
  EXPECT_EQ(o.train.steps, defaults.steps);
  EXPECT_EQ(o.train.grow_gradient, defaults.grow_gradient);
  EXPECT_EQ(o.scene.seed, o.train.seed);
}

TEST(Resolve, GivenOptionsOverrideTheEarlierRunWhichOverridesThePreset) {
  GivenOptions options;
  options.preset = "fast";
  EXPECT_EQ(resolve(options).train.steps, 7'000);
  EXPECT_EQ(resolve(options).train.max_gaussians, 200'000u);
  options.earlier["steps"] = "500";
  EXPECT_EQ(resolve(options).train.steps, 500);
  EXPECT_EQ(resolve(options).train.max_gaussians, 200'000u);
  options.given["steps"] = "40";
  EXPECT_EQ(resolve(options).train.steps, 40);
}

TEST(Resolve, StrategyAndAbsgradChangeTheDefaultsOfOtherOptions) {
  EXPECT_FLOAT_EQ(given({{"strategy", "adc"}}).train.prune_opacity, 0.05f);
  EXPECT_EQ(given({{"strategy", "mcmc"}, {"max_gaussians", "7"}}).train.max_gaussians, 7u);
  EXPECT_EQ(given({{"absgrad", "false"}}).train.grow_gradient, 2e-4f);
  EXPECT_EQ(given({{"strategy", "adc"}}).train.grow_gradient, 8e-4f);
  EXPECT_EQ(given({{"absgrad", "true"}, {"grow_gradient", "0.001"}}).train.grow_gradient, 1e-3f);
}

TEST(Resolve, PhotosBlendedOverWhiteGetAWhiteBackground) {
  EXPECT_EQ(given({{"alpha", "white"}}).train.render.background.x, 1);
  EXPECT_EQ(given({{"alpha", "black"}}).train.render.background.x, 0);
  EXPECT_EQ(given({{"alpha", "white"}, {"background", "0,0,0"}}).train.render.background.x, 0);
  GivenOptions continued;
  continued.earlier = {{"alpha", "white"}, {"background", "0,0,0"}};
  EXPECT_EQ(resolve(continued).train.render.background.x, 0);
}

TEST(Resolve, ObjectsAreTrainedOverRandomColoursAndShownOverWhite) {
  const TrainOptions object = given({{"alpha", "object"}}).train;
  EXPECT_TRUE(object.random_background);
  EXPECT_EQ(object.render.background.x, 1);
  const TrainOptions own =
      given({{"alpha", "object"}, {"background", "0,0,0"}, {"random_background", "false"}}).train;
  EXPECT_FALSE(own.random_background);
  EXPECT_EQ(own.render.background.x, 0);
  EXPECT_FALSE(given({{"alpha", "auto"}}).train.random_background);
}

TEST(Resolve, DropoutIsAutomaticOrANumber) {
  EXPECT_FALSE(resolve({}).train.dropout.has_value());
  EXPECT_EQ(given({{"dropout", "0.5"}}).train.dropout, 0.5f);
  GivenOptions continued;
  continued.earlier = to_texts(given({{"dropout", "0"}}));
  EXPECT_EQ(resolve(continued).train.dropout, 0.0f);
  continued.given["dropout"] = "auto";
  EXPECT_FALSE(resolve(continued).train.dropout.has_value());
  EXPECT_EQ(error_of({{{"dropout", "few"}}, {}, {}}),
            "dropout must be auto or a number that is not negative, not 'few'");
  EXPECT_EQ(error_of({{{"dropout", "1"}}, {}, {}}), "dropout must be less than 1");
}

TEST(Resolve, TheSceneDecidesWhatAutoMeans) {
  Scene scene;
  EXPECT_EQ(resolve({}, scene).scene.alpha, AlphaUse::kAuto);
  EXPECT_EQ(resolve({}, scene).train.render.background.x, 0);
  scene.alpha = AlphaUse::kObject;
  const RunOptions options = resolve({}, scene);
  EXPECT_EQ(options.scene.alpha, AlphaUse::kObject);
  EXPECT_TRUE(options.train.random_background);
  EXPECT_EQ(options.train.render.background.x, 1);
  const RunOptions again = resolve(GivenOptions{{}, {}, to_texts(options)});
  EXPECT_EQ(to_texts(again), to_texts(options));
}

TEST(Resolve, TheBackgroundOfAnEarlierRunIsThatOfItsAlpha) {
  GivenOptions object;
  object.earlier = {{"alpha", "weight"}, {"background", "0,0,0"}, {"random_background", "false"}};
  object.given = {{"alpha", "object"}};
  EXPECT_EQ(resolve(object).train.render.background.x, 1);
  EXPECT_TRUE(resolve(object).train.random_background);
  object.given["background"] = "0,0,0";
  EXPECT_EQ(resolve(object).train.render.background.x, 0);
  GivenOptions opaque;
  opaque.earlier = {{"alpha", "object"}, {"background", "1,1,1"}, {"random_background", "true"}};
  EXPECT_TRUE(resolve(opaque).train.random_background);
  opaque.given = {{"alpha", "weight"}};
  EXPECT_FALSE(resolve(opaque).train.random_background);
  EXPECT_EQ(resolve(opaque).train.render.background.x, 0);
}

TEST(Resolve, TheSeedAppliesToTheRandomPointsToo) {
  EXPECT_EQ(given({{"seed", "5"}}).scene.seed, 5u);
  EXPECT_EQ(given({{"seed", "5"}}).train.seed, 5u);
}

TEST(Resolve, TextsOfTheOptionsResolveToTheSameOptions) {
  const RunOptions options = given({{"strategy", "mcmc"},
                                    {"steps", "123"},
                                    {"background", "0.25,0.5,1"},
                                    {"images", "photos"},
                                    {"eval", "true"}});
  const RunOptions again = resolve(GivenOptions{{}, {}, to_texts(options)});
  EXPECT_EQ(to_texts(again), to_texts(options));
  EXPECT_EQ(again.train.steps, 123);
  EXPECT_EQ(again.scene.images, "photos");
  EXPECT_TRUE(again.train.hold_out);
}

TEST(Resolve, ADeviceIsANumberOrAName) {
  EXPECT_EQ(resolve({}).device, "0");
  EXPECT_EQ(given({{"device", "1"}}).device, "1");
  GivenOptions continued;
  continued.earlier = to_texts(given({{"device", "radeon"}}));
  EXPECT_EQ(resolve(continued).device, "radeon");
}

TEST(Resolve, ErrorsNameTheOptionAndTheProblem) {
  EXPECT_EQ(error_of({{{"steps", "0"}}, {}, {}}), "steps must be at least 1");
  EXPECT_EQ(error_of({{{"steps", "many"}}, {}, {}}),
            "steps must be a whole number that is not negative, not 'many'");
  EXPECT_EQ(error_of({{{"ssim_weight", "-1"}}, {}, {}}),
            "ssim_weight must be a number that is not negative, not '-1'");
  EXPECT_EQ(error_of({{{"strategy", "abc"}}, {}, {}}), "strategy must be adc or mcmc, not 'abc'");
  EXPECT_EQ(error_of({{{"background", "red"}}, {}, {}}),
            "background must be red,green,blue, such as 1,0.5,0, not 'red'");
  EXPECT_EQ(error_of({{{"blur", "0"}}, {}, {}}), "blur must be greater than 0");
  EXPECT_EQ(error_of({{{"downscale", "65"}}, {}, {}}), "downscale must be from 1 to 64");
  EXPECT_EQ(error_of({{}, "good", {}}), "preset must be fast, balanced or best, not 'good'");
}

TEST(Resolve, UnknownOptionsSuggestTheNearest) {
  EXPECT_THROW(given({{"stepz", "1"}}), UnknownOption);
  EXPECT_EQ(error_of({{{"stepz", "1"}}, {}, {}}), "stepz is not an option; did you mean steps?");
  EXPECT_EQ(error_of({{{"wheels", "4"}}, {}, {}}), "wheels is not an option");
  EXPECT_NO_THROW(resolve({{}, {}, {{"wheels", "4"}}}));  // a file of another version may have other options
}

}  // namespace
}  // namespace stipple
