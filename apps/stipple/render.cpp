// SPDX-License-Identifier: Apache-2.0
// stipple render: an image of a model from one camera, or many along a path (render_path.h).
#include "stipple/backend/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/has_extension.h"
#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/options/option_flags.h"
#include "apps/stipple/render_path.h"
#include "apps/stipple/run/run_model.h"
#include "stipple/core/error.h"
#include "stipple/io/camera_file.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/npy.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace {

constexpr const char* kAppearance =
    "Appearance (by default, that of the run; of a file, as shown, and antialiased if the file says so)";

struct RenderArguments {
  std::string model, camera, output, depth, inverse_depth, alpha;
  BackendChoice backend;
  OptionTexts given;
  PathArguments path;
};

// Called before rendering, so that a mistyped name is reported at once.
void check_outputs(const RenderArguments& a) {
  if (!has_extension(a.output, {".png"}) && !has_extension(a.output, {".npy"}))
    throw Error(fmt::format("{}: the name of the image must end in .png or .npy", a.output));
  for (const std::string& path : {a.depth, a.inverse_depth, a.alpha})
    if (!path.empty() && !has_extension(path, {".npy"}))
      throw Error(fmt::format("{}: the names of depth and alpha files must end in .npy", path));
  std::vector<std::string> outputs = {a.output, a.depth, a.inverse_depth, a.alpha};
  std::erase(outputs, "");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (std::find(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(i), outputs[i]) !=
        outputs.begin() + static_cast<std::ptrdiff_t>(i))
      throw Error(fmt::format("{}: this file is given for two outputs", outputs[i]));
    OutputFile::check(outputs[i]);
  }
}

void apply_flags(const RenderArguments& a, RenderOptions& options) {
  for_each_render_option(options, [&](const char* name, auto& value, OptionRange, const char*) {
    apply_flag(a.given, name, value);
  });
  check(options);
}

RunModel load_model_of(const RenderArguments& a) {
  RunModel model = load_run_model(a.model);
  apply_flags(a, model.render);
  return model;
}

void render_image(const RenderArguments& a) {
  check_outputs(a);
  const Camera camera = load_camera(a.camera);
  const RunModel model = load_model_of(a);
  RenderOptions options = model.render;
  if (!a.depth.empty()) options.depth = DepthOutput::kExpected;
  if (!a.inverse_depth.empty()) options.depth = DepthOutput::kInverse;

  const RenderedImages images = render(*a.backend.make(), model.gaussians, {camera, options});
  if (has_extension(a.output, {".npy"}))
    save_npy(images.color, a.output);
  else
    save_png(images.color, a.output);
  if (!a.depth.empty()) save_npy(images.depth, a.depth);
  if (!a.inverse_depth.empty()) save_npy(images.depth, a.inverse_depth);
  if (!a.alpha.empty()) save_npy(images.alpha, a.alpha);
}

void render_along_path(const RenderArguments& a) {
  const auto backend = a.backend.make();
  const PlannedPath path = plan_path(a.path, a.model, a.output);
  RunModel model = load_model_of(a);
  ModelRenderer renderer(*backend, model.gaussians);
  model.gaussians = {};  // the device has them now
  render_path(path, a.output, model.render, renderer);
}

void run_render(const RenderArguments& a) {
  RenderOptions unused;
  apply_flags(a, unused);  // an invalid flag is reported before the model is read
  if (!a.path.path.empty()) return render_along_path(a);
  if (a.camera.empty()) throw CLI::RequiredError("--camera or --path");
  render_image(a);
}

}  // namespace

void add_render(CLI::App& app) {
  auto a = std::make_shared<RenderArguments>();
  CLI::App* command = app.add_subcommand("render", "Render a model from one camera or along a path");
  command->add_option("model", a->model, model_help())->required();
  auto* path = add_path_options(*command, a->path);
  command
      ->add_option("--camera", a->camera,
                   "camera of a single image, as a JSON file with width, height, fx, fy, cx, cy and "
                   "camera_from_world (3x4 or 4x4, row-major)")
      ->excludes(path);
  command
      ->add_option(
          "-o,--output", a->output,
          "image as .png or .npy (float32, height x width x 3, not clamped); with --path, a folder for "
          "the frames and video.mp4, or an .mp4 file for the video alone")
      ->required();
  auto* depth = command->add_option("--depth", a->depth, "also write the expected depth as .npy");
  auto* inverse = command->add_option("--inverse-depth", a->inverse_depth,
                                      "also write the expected inverse depth as .npy");
  auto* alpha = command->add_option("--alpha", a->alpha, "also write the accumulated alpha as .npy");
  inverse->excludes(depth);
  for (CLI::Option* option : {depth, inverse, alpha}) option->excludes(path);
  const RenderOptions defaults;
  for_each_render_option(defaults, [&](const char* name, const auto& value, OptionRange, const char* help) {
    add_option_flag(*command, name, kAppearance, value, help, a->given);
  });
  add_backend_options(*command, a->backend);
  command->callback([a] { run_render(*a); });
}

}  // namespace stipple
