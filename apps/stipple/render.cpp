// SPDX-License-Identifier: Apache-2.0
// stipple render: one picture of a model from one camera.
#include "stipple/backend/render.h"

#include <fmt/format.h>

#include <memory>

#include "apps/stipple/commands.h"
#include "stipple/core/error.h"
#include "stipple/io/camera_file.h"
#include "stipple/io/image_file.h"
#include "stipple/io/npy.h"
#include "stipple/io/output_file.h"
#include "stipple/io/ply.h"

namespace stipple {

namespace {

struct RenderArguments {
  std::string model, camera, output, depth, inverse_depth, alpha, backend = "best";
  std::vector<float> background = {0, 0, 0};
  bool antialiased = false;
};

bool has_extension(const std::string& path, const char* extension) {
  return std::filesystem::path(path).extension() == extension;
}

// Before the work, so that a mistyped name costs nothing.
void check_outputs(const RenderArguments& a) {
  if (!has_extension(a.output, ".png") && !has_extension(a.output, ".npy"))
    throw Error(fmt::format("{}: the image's name must end in .png or .npy", a.output));
  for (const std::string& path : {a.depth, a.inverse_depth, a.alpha})
    if (!path.empty() && !has_extension(path, ".npy"))
      throw Error(fmt::format("{}: depth and alpha are written as .npy", path));
  for (const std::string& path : {a.output, a.depth, a.inverse_depth, a.alpha})
    if (!path.empty()) OutputFile probe(path);
}

void run_render(const RenderArguments& a) {
  check_outputs(a);
  Camera camera = load_camera(a.camera);
  Gaussians gaussians = load_ply(a.model);
  View view{camera, {}};
  view.options.background = {a.background[0], a.background[1], a.background[2]};
  view.options.antialiased = a.antialiased;
  if (!a.depth.empty()) view.options.depth = DepthOutput::kExpected;
  if (!a.inverse_depth.empty()) view.options.depth = DepthOutput::kInverse;

  RenderedImages images = render(*make_backend(a.backend), gaussians, view);
  if (has_extension(a.output, ".npy"))
    save_npy(images.color, a.output);
  else
    save_png(images.color, a.output);
  if (!a.depth.empty()) save_npy(images.depth, a.depth);
  if (!a.inverse_depth.empty()) save_npy(images.depth, a.inverse_depth);
  if (!a.alpha.empty()) save_npy(images.alpha, a.alpha);
}

}  // namespace

void add_render(CLI::App& app) {
  auto a = std::make_shared<RenderArguments>();
  CLI::App* command = app.add_subcommand("render", "Render a model from one camera");
  command->add_option("model", a->model, "the model, a 3DGS .ply")->required();
  command
      ->add_option("--camera", a->camera,
                   "JSON: width, height, fx, fy, cx, cy, camera_from_world (3x4 or 4x4, row-major)")
      ->required();
  command
      ->add_option("-o,--output", a->output,
                   "image.png, or image.npy: float32, height x width x 3, not clamped")
      ->required();
  auto* depth = command->add_option("--depth", a->depth, "also write the expected depth as .npy");
  command->add_option("--inverse-depth", a->inverse_depth, "also write the expected inverse depth as .npy")
      ->excludes(depth);
  command->add_option("--alpha", a->alpha, "also write the accumulated alpha as .npy");
  command->add_option("--background", a->background, "red,green,blue, each 0 to 1")
      ->delimiter(',')
      ->expected(3)
      ->capture_default_str();
  command->add_flag("--antialiased", a->antialiased, "dim splats that are smaller than a pixel");
  command->add_option("--backend", a->backend, "cpu or best")->capture_default_str();
  command->callback([a] { run_render(*a); });
}

}  // namespace stipple
