// SPDX-License-Identifier: Apache-2.0
// stipple fit: Gaussians on a plane, fitted to a single image.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/create_folder.h"
#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/options/whole_number.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/standard_files.h"
#include "stipple/core/error.h"
#include "stipple/draw/canvas.h"
#include "stipple/draw/sample_picture.h"
#include "stipple/io/camera_file.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/output_file.h"
#include "stipple/io/ply/ply.h"
#include "stipple/train/fit_image.h"

namespace stipple {

namespace {

struct FitArguments {
  std::string image, output;
  BackendChoice backend;
  bool builtin = false;
  int max_side_px = 1024;
  FitOptions options;
};

Image load_input(const FitArguments& a) {
  if (a.builtin) return sample_picture(768, 512);
  return to_rgb(load_small_image(a.image, a.max_side_px));
}

// Called before the fit, so that an unwritable folder is reported at once.
void prepare_folder(const std::filesystem::path& folder) {
  create_folder(folder);
  OutputFile::check(folder / "model.ply");
}

Image side_by_side(const Image& left, const Image& right) {
  constexpr int kGap_px = 8;
  Canvas both(left.width_px + kGap_px + right.width_px, left.height_px, {1, 1, 1});
  both.picture(0, 0, left);
  both.picture(left.width_px + kGap_px, 0, right);
  return both.image();
}

void run_fit(const FitArguments& a) {
  if (a.builtin == !a.image.empty()) throw Error("give either an image file or --builtin");
  Image image = load_input(a);
  std::filesystem::path folder = a.output;
  prepare_folder(folder);
  auto backend = a.backend.make();
  ImageFit fit(*backend, image, a.options);
  catch_interrupts();

  Progress progress(a.options.steps);
  double dB = psnr(fit.render(), image);
  float loss = 0;
  auto note = [&] { return fmt::format("loss {:.4f}  PSNR {:.2f} dB", loss, dB); };
  while (!fit.done() && !interrupted()) {
    loss = fit.step();
    if (fit.steps_done() % 50 == 0) dB = psnr(fit.render(), image);
    if (progress.is_due()) progress.update(fit.steps_done(), note());
  }
  Image result = fit.render();
  dB = psnr(result, image);
  progress.finish(fit.steps_done(), note());

  save_ply(fit.gaussians(), folder / "model.ply");
  save_camera(fit.view().camera, folder / "camera.json");
  save_png(result, folder / "result.png");
  save_png(side_by_side(image, result), folder / "side_by_side.png");
  print("{}: {} Gaussians, {} steps, {:.2f} dB, {} (model.ply, camera.json, result.png, side_by_side.png)\n",
        folder.string(), a.options.gaussian_count, fit.steps_done(), dB, format_duration(progress.seconds()));
  if (fit.steps_done() < a.options.steps)
    throw Error(fmt::format("interrupted after {} of {} steps; the result so far was saved in {}",
                            fit.steps_done(), a.options.steps, folder.string()));
}

}  // namespace

void add_fit(CLI::App& app) {
  auto a = std::make_shared<FitArguments>();
  CLI::App* command = app.add_subcommand("fit", "Fit Gaussians on a plane to a single image");
  command->add_option("image", a->image, "JPEG or PNG file");
  command->add_flag("--builtin", a->builtin, "fit the built-in image (768x512) instead of a file");
  command
      ->add_option("-o,--output", a->output,
                   "folder for model.ply, camera.json, result.png and side_by_side.png")
      ->required();
  command->add_option("--gaussians", a->options.gaussian_count, "number of Gaussians")
      ->check(whole_number(1, 10'000'000))
      ->capture_default_str();
  command->add_option("--steps", a->options.steps, "number of optimisation steps")
      ->check(whole_number(1, 10'000'000))
      ->capture_default_str();
  command
      ->add_option("--max-size", a->max_side_px,
                   "shrink an image whose longer side has more pixels than this")
      ->check(whole_number(1, 16384))
      ->capture_default_str();
  command->add_option("--seed", a->options.seed, "seed of the random initial Gaussians")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  add_backend_options(*command, a->backend);
  command->callback([a] { run_fit(*a); });
}

}  // namespace stipple
