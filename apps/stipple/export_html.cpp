// SPDX-License-Identifier: Apache-2.0
// stipple export-html: a model as one HTML file that shows it in a browser, without a server.
#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/stipple/commands.h"
#include "apps/stipple/files/has_extension.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/view/embedded_page.h"
#include "apps/stipple/view/model_hello.h"
#include "apps/stipple/view/page.h"
#include "stipple/core/error.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace {

// Chromium opened pages of 700 MB and 9 million Gaussians of degree 3, which took 3.6 GB, and neither 1.4 GB
// nor 18 million.
constexpr std::uint64_t kMostBytes = 500'000'000;
constexpr std::size_t kMostGaussians = 10'000'000;
constexpr std::size_t kMostOnPhones = 2'000'000;

struct ExportArguments {
  std::string model, output, scene, title;
};

// Called before the work, so that a mistake is reported at once.
void check(const ExportArguments& a) {
  if (!draws_models(viewer_page()))
    throw Error(
        "this stipple was built without the viewer, which the page needs; install node and npm, run ./setup "
        "in "
        "the folder of its sources, and build it again");
  if (!has_extension(a.output, {".html", ".htm"}))
    throw Error(fmt::format("{}: the name of a page must end in .html", a.output));
  OutputFile::check(a.output);
}

[[noreturn]] void fail_too_large(const std::string& model, const std::string& size, const std::string& most) {
  throw Error(fmt::format(
      "{}: {}, but browsers cannot be relied on to open more than {}; make the model smaller first, for "
      "example with stipple compress --target-size 100MB",
      model, size, most));
}

// The model's own file if browsers read it as it is and it is compact, or else a .sog.
ViewedModel load(const std::string& run_or_model) {
  Gaussians gaussians;
  ViewedModel model = load_viewed_model(run_or_model, {.most_bytes = 0, .may_convert = false}, gaussians);
  if (model.count > kMostGaussians)
    fail_too_large(run_or_model, fmt::format("the model has {} Gaussians", model.count),
                   fmt::format("{}", kMostGaussians));
  if (!model.served)
    model.served = ServedModel::as_sog(gaussians, model.file.string(), model.render.antialiased);
  const std::uint64_t bytes = bytes_with_model(viewer_page(), model.served->size_bytes());
  if (bytes > kMostBytes)
    fail_too_large(run_or_model, fmt::format("the page would have {} MB", bytes / 1'000'000),
                   fmt::format("{} MB", kMostBytes / 1'000'000));
  return model;
}

void run_export(const ExportArguments& a) {
  check(a);
  const std::vector<SceneView> views =
      views_of_model(a.model, a.scene, "what is up and where the page starts is a guess");
  const ViewedModel model = load(a.model);
  Hello hello = hello_of_models({&model, 1}, views);
  hello.models.front().url.clear();
  if (!a.title.empty()) hello.title = a.title;

  std::uint64_t bytes = 0;
  OutputFile page(a.output);
  write_embedded_page(viewer_page(), hello, *model.served, [&](std::span<const std::byte> part) {
    page.write(part);
    bytes += part.size();
  });
  page.commit();
  print("{}: {} Gaussians as .{}, {}; it opens in a browser, without a server\n", a.output, model.count,
        model.served->format(), format_bytes(static_cast<std::size_t>(bytes)));
  if (model.count > kMostOnPhones)
    print("So many Gaussians may be too much for phones; stipple compress makes a smaller model.\n");
}

}  // namespace

void add_export_html(CLI::App& app) {
  auto a = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand(
      "export-html", "Write a model as one HTML file that shows it in a browser, without a server");
  command
      ->add_option(
          "model", a->model,
          model_help() + "; a .sog, .spz, .splat or .ksplat goes into the page as it is, others as a .sog")
      ->required();
  command->add_option("-o,--output", a->output, ".html file; it holds the model and the viewer")->required();
  command->add_option("--scene", a->scene,
                      "folder of the scene, whose cameras tell what is up and where the page starts; by "
                      "default, the scene of the run; its photos do not go into the page");
  command->add_option("--title", a->title, "heading of the page; by default, the name of the model");
  command->callback([a] { run_export(*a); });
}

}  // namespace stipple
