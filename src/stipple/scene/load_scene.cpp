// SPDX-License-Identifier: Apache-2.0
// Turns the content of a scene's files into views whose photos can be loaded.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "stipple/core/error.h"
#include "stipple/scene/alpha_use.h"
#include "stipple/scene/random_points.h"
#include "stipple/scene/scene_source.h"
#include "stipple/scene/view_builder.h"
#include "stipple/scene/visual_hull.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

void split(const SceneSource& source, Scene& scene) {
  const bool has_own = std::any_of(source.images.begin(), source.images.end(),
                                   [](const SourceImage& i) { return i.is_test.has_value(); });
  if (has_own) return;
  for (std::size_t i = 0; i < scene.views.size(); i += kTestEvery) scene.views[i].is_test = true;
}

// The advice as the end of a sentence. "They are left out" is omitted, because here all images are.
std::string way_out(const SceneProblem& problem) {
  const std::string_view left_out = "They are left out";
  std::string advice = problem.advice;
  if (advice.starts_with(left_out))
    advice.erase(0, left_out.size());
  else if (!advice.empty())
    advice = fmt::format("; {}{}", static_cast<char>(std::tolower(advice[0])), advice.substr(1));
  if (advice.ends_with('.')) advice.pop_back();
  return advice;
}

[[noreturn]] void fail_without_views(const fs::path& path, const Scene& scene) {
  if (scene.problems.empty())
    throw Error(fmt::format("{}: the scene lists no images; export it again", path.string()));
  const SceneProblem& last = scene.problems.back();
  throw Error(fmt::format("{}: no photo can be used: {}{}", path.string(), last.what, way_out(last)),
              last.options);
}

std::vector<std::size_t> select(const std::vector<SceneView>& views, bool is_test) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < views.size(); ++i)
    if (views[i].is_test == is_test) indices.push_back(i);
  return indices;
}

void apply_alpha(const SceneOptions& options, Scene& scene) {
  const AlphaDecision decision = decide_alpha(scene.views, options.alpha);
  scene.alpha = decision.use;
  scene.alpha_reason = decision.reason;
  for (SceneView& view : scene.views)
    view.alpha = decision.use == AlphaUse::kAuto ? AlphaUse::kWeight : decision.use;
}

// Held-out photos must not be carved from, or their scores would be too good.
std::vector<SceneView> views_to_carve_from(const Scene& scene) {
  std::vector<SceneView> views;
  for (const std::size_t i : scene.train_views()) views.push_back(scene.views[i]);
  return views;
}

void make_points(const SceneOptions& options, Scene& scene) {
  std::string what = "the scene has no points to start from";
  if (scene.alpha == AlphaUse::kObject) {
    scene.points = carve_points(views_to_carve_from(scene), options.random_point_count, options.seed);
    scene.has_carved_points = scene.points.size() > 0;
    if (scene.has_carved_points) return;
    what += ", and its photos do not show an object in the same place";
  }
  scene.has_random_points = true;
  scene.points = random_points(scene.views, options.random_point_count, options.seed);
  scene.problems.push_back(
      {false, what,
       fmt::format("{} random points in front of the cameras are used instead, so training takes longer.",
                   scene.points.size())});
}

}  // namespace

std::vector<std::size_t> Scene::train_views() const { return select(views, false); }
std::vector<std::size_t> Scene::test_views() const { return select(views, true); }

Scene load_scene(const fs::path& path, const SceneOptions& options) {
  SceneSource source = read_scene_source(path);
  Scene scene;
  scene.path = path;
  scene.format = source.format;
  scene.problems = source.problems;
  ViewBuilder builder(source, options);
  for (const SourceImage& image : source.images) builder.add(image);
  scene.views = std::move(builder.views);
  for (SceneProblem& problem : builder.problems()) scene.problems.push_back(std::move(problem));
  if (scene.views.empty()) fail_without_views(path, scene);
  std::sort(scene.views.begin(), scene.views.end(),
            [](const SceneView& a, const SceneView& b) { return a.name < b.name; });
  split(source, scene);
  apply_alpha(options, scene);
  scene.points = std::move(source.points);
  if (scene.points.size() == 0) make_points(options, scene);
  return scene;
}

}  // namespace stipple
