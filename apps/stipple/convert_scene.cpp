// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/convert_scene.h"

#include <fmt/format.h>

#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/standard_files.h"
#include "stipple/core/error.h"
#include "stipple/scene/save_scene.h"

namespace stipple {

namespace {

PhotoTransfer transfer_of(const std::string& name) {
  return name == "copy" ? PhotoTransfer::kCopy : name == "link" ? PhotoTransfer::kLink : PhotoTransfer::kNone;
}

}  // namespace

void add_scene_flags_of_convert(CLI::App& command, SceneFlags& flags) {
  constexpr const char* kGroup = "Scenes";
  for (const CLI::Option* option : command.get_options())
    if (!option->get_positional() && option != command.get_help_ptr()) flags.of_models.push_back(option);
  CLI::Option* to =
      command
          .add_option("--to", flags.to,
                      "convert a scene instead, from a folder or file that stipple check accepts to a "
                      "folder in this format")
          ->check(CLI::IsMember({"colmap", "colmap-text", "transforms"}))
          ->group(kGroup);
  command
      .add_option(
          "--photos", flags.photos,
          "what becomes of photos and masks: they are copied, or linked to where they are now, or left there")
      ->check(CLI::IsMember({"copy", "link", "none"}))
      ->capture_default_str()
      ->group(kGroup)
      ->needs(to);
  command.add_option("--images", flags.images, "folder of the photos, relative to the scene")
      ->group(kGroup)
      ->needs(to);
  command.add_flag("--overwrite", flags.overwrite, "write into a folder that is not empty")
      ->group(kGroup)
      ->needs(to);
}

void convert_scene(const std::vector<std::string>& scenes, const std::string& folder,
                   const SceneFlags& flags) {
  if (scenes.size() != 1)
    throw OptionError(
        "to", fmt::format("takes the name of a scene and that of a folder, not {} names", scenes.size() + 1));
  for (const CLI::Option* option : flags.of_models)
    if (option->count() > 0)
      throw OptionError("to", fmt::format("converts a scene, but {} is for models", option->get_name()));
  SceneOptions load;
  load.images = flags.images;
  load.random_point_count = 0;  // only points of the scene's own are written
  const Scene scene = load_scene(scenes[0], load);
  catch_interrupts();
  const int count = static_cast<int>(scene.views.size());
  Progress progress(count);
  SaveSceneOptions options{flags.to, transfer_of(flags.photos), flags.overwrite, {}};
  options.on_photo = [&](std::size_t done) {
    if (interrupted())
      throw Error(fmt::format("interrupted after {} of {} photos; {} holds no scene yet, and can be removed",
                              done, count, folder));
    progress.update(static_cast<int>(done), "photos");
  };
  const std::vector<SceneProblem> lost = save_scene(scene, folder, options);
  progress.finish(count, "photos");
  for (const std::vector<SceneProblem>* problems : {&scene.problems, &lost})
    for (const SceneProblem& problem : *problems) print_warning(problem.what);
  print("{}: {} views, {} points, from {}\n", folder, count,
        scene.has_measured_points() ? scene.points.size() : 0, scene.format);
}

}  // namespace stipple
