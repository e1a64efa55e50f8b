// SPDX-License-Identifier: Apache-2.0
// stipple convert: models from one format to another, joined and edited on the way.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "apps/stipple/commands.h"
#include "apps/stipple/convert/cost.h"
#include "apps/stipple/convert/edits.h"
#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/options/option_flags.h"
#include "apps/stipple/run/run_folder.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/terminal/table.h"
#include "apps/stipple/terminal/write_json.h"
#include "stipple/core/error.h"
#include "stipple/edit/join.h"
#include "stipple/edit/transform.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"
#include "stipple/model/model_file.h"
#include "stipple/options/resolve.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr const char* kAntialiased = "antialiased";

struct ConvertArguments {
  std::vector<std::string> inputs;
  std::string output, scene, psnr;
  EditFlags edits;
  OptionTexts given;  // antialiased
  BackendChoice backend;
  bool json = false;
};

struct FileFacts {
  std::string path, format;
  std::uintmax_t bytes = 0;
  std::size_t count = 0;
  int sh_degree = 0;
};

struct Conversion {
  std::vector<FileFacts> inputs;
  FileFacts output;
  std::vector<RemovedGaussians> removed;
  std::optional<ConversionCost> cost;
};

// Called before the work, so that a mistake is reported at once.
void check_files(const ConvertArguments& a) {
  check_model_name(a.output);
  for (const std::string& input : a.inputs) {
    const fs::path file = model_file(input);
    InputFile{file, 1};  // throws if it cannot be read
    std::error_code missing;
    if (fs::equivalent(file, a.output, missing))
      throw Error(fmt::format("{}: this is also an input; give the converted model another name", a.output));
  }
  OutputFile::check(a.output);
}

FileFacts facts_of(const fs::path& file, const Gaussians& gaussians, const ModelFacts& facts) {
  return {file.string(), facts.format, fs::file_size(file), gaussians.size(), gaussians.sh_degree};
}

// The models in one, which is rendered as the first of them.
RunModel load_inputs(const ConvertArguments& a, std::vector<FileFacts>& files) {
  RunModel whole;
  for (const std::string& input : a.inputs) {
    RunModel part = load_run_model(input);
    files.push_back(facts_of(model_file(input), part.gaussians, part.facts));
    if (files.size() == 1) {
      whole = std::move(part);
      continue;
    }
    if (part.render.antialiased != whole.render.antialiased && !a.given.contains(kAntialiased))
      print_warning(
          fmt::format("{} and {} differ in whether they were trained for antialiased rendering; give "
                      "--antialiased or --no-antialiased",
                      a.inputs.front(), input));
    append(std::move(part.gaussians), whole.gaussians);
  }
  apply_flag(a.given, kAntialiased, whole.render.antialiased);
  return whole;
}

std::optional<Scene> load_cameras(const ConvertArguments& a, const std::string& folder) {
  if (folder.empty()) return {};
  SceneOptions options;
  if (fs::exists(fs::path(a.inputs.front()) / "options.json"))
    options = load_run_record(a.inputs.front()).scene_options;
  options.random_point_count = 0;  // only the views are needed
  return load_scene(folder, options);
}

// What is in the file, since not every format can hold all of a model.
FileFacts read_back(const fs::path& file, Gaussians& gaussians) {
  ModelFacts facts;
  gaussians = load_model(file, &facts);
  return facts_of(file, gaussians, facts);
}

ConversionCost measure(const ConvertArguments& a, const Scene& scene, const SimilarityTransform& new_from_old,
                       Backend& backend, Gaussians converted) {
  std::vector<FileFacts> ignored;
  RunModel original = load_inputs(a, ignored);
  transform(inverse(new_from_old), converted);  // to where the cameras are
  // A file does not say over what it was rendered in training; objects are scored over white.
  if (!fs::exists(fs::path(a.inputs.front()) / "options.json"))
    original.render.background = resolve(GivenOptions{}, scene).train.render.background;
  return conversion_cost(backend, original.gaussians, converted, scene, original.render);
}

nlohmann::ordered_json to_json(const FileFacts& file) {
  return {{"path", file.path},
          {"format", file.format},
          {"bytes", file.bytes},
          {"gaussians", file.count},
          {"sh_degree", file.sh_degree}};
}

nlohmann::ordered_json to_json(const ViewCost& cost) {  // infinite values become null
  return {{"view", cost.view},
          {"between", cost.between},
          {"original", cost.original},
          {"converted", cost.converted}};
}

void print_json(const ConvertArguments& a, const Conversion& conversion) {
  nlohmann::ordered_json out;
  for (const FileFacts& file : conversion.inputs) out["inputs"].push_back(to_json(file));
  out["output"] = to_json(conversion.output);
  out["removed"] = nlohmann::ordered_json::object();
  for (const RemovedGaussians& removed : conversion.removed) {
    std::string reason = removed.reason;
    std::replace(reason.begin(), reason.end(), ' ', '_');
    out["removed"][reason] = removed.count;
  }
  if (conversion.cost) {
    out["psnr"]["scene"] = a.psnr;
    out["psnr"]["mean"] = to_json(conversion.cost->mean);
    out["psnr"]["mean"].erase("view");
    for (const ViewCost& view : conversion.cost->views) out["psnr"]["views"].push_back(to_json(view));
  }
  write_json(out);
}

void print_text(const Conversion& conversion) {
  std::vector<std::vector<std::string>> rows = {{"file", "format", "bytes", "Gaussians", "SH degree"}};
  const auto add = [&](const FileFacts& file) {
    rows.push_back({file.path, file.format, fmt::format("{}", file.bytes), fmt::format("{}", file.count),
                    fmt::format("{}", file.sh_degree)});
    return file.bytes;
  };
  std::uintmax_t before = 0;
  for (const FileFacts& file : conversion.inputs) before += add(file);
  const std::uintmax_t after = add(conversion.output);
  print_table(rows);
  for (const RemovedGaussians& removed : conversion.removed)
    if (removed.count > 0) print("removed {} Gaussians that are {}\n", removed.count, removed.reason);
  print("{}: {:.1f} % of the size before\n", conversion.output.path,
        100 * static_cast<double>(after) / static_cast<double>(before));
  if (conversion.cost) print_cost(*conversion.cost);
}

// Nothing has to be saved if this is interrupted, and the output appears complete or not at all, so that the
// signals end the program as they do by default.
void run_convert(const ConvertArguments& a) {
  check_files(a);
  const SimilarityTransform new_from_old = transform_of(a.edits);
  const std::optional<Scene> scene = load_cameras(a, a.psnr);
  const std::optional<Scene> other_scene = load_cameras(a, a.scene);
  const std::unique_ptr<Backend> backend = scene ? a.backend.make() : nullptr;
  Conversion conversion;
  Gaussians gaussians;
  {
    RunModel model = load_inputs(a, conversion.inputs);
    gaussians = std::move(model.gaussians);
    const Scene* views = other_scene ? &*other_scene : scene ? &*scene : nullptr;
    conversion.removed = edit(a.edits, new_from_old, views, gaussians);
    save_model(gaussians, a.output, {.antialiased = model.render.antialiased});
  }
  gaussians = {};
  conversion.output = read_back(a.output, gaussians);
  if (scene) conversion.cost = measure(a, *scene, new_from_old, *backend, std::move(gaussians));
  if (a.json)
    print_json(a, conversion);
  else
    print_text(conversion);
}

}  // namespace

void add_convert(CLI::App& app) {
  auto a = std::make_shared<ConvertArguments>();
  CLI::App* command = app.add_subcommand(
      "convert", "Convert models between formats; join, crop, prune, transform and reorder them");
  // One list, since CLI11 leaves nothing for a name behind a list.
  command
      ->add_option(
          "files", a->inputs,
          fmt::format("in... out: each input is a {}; several are joined. The last name is the {} to "
                      "write; its ending tells the format",
                      model_help(), written_model_help()))
      ->required()
      ->expected(2, std::numeric_limits<int>::max());
  command->add_option(
      "--scene", a->scene,
      "folder of the scene, whose cameras tell which Gaussians are most visible (--max-gaussians)");
  command->add_option(
      "--psnr", a->psnr,
      "folder of the scene, from whose cameras the original and the file that was written are "
      "rendered, to show what the conversion cost");
  command->add_flag("--json", a->json, "print the result as JSON");
  add_edit_flags(*command, a->edits);
  const SaveModelOptions defaults;
  add_option_flag(*command, kAntialiased, "Formats", defaults.antialiased,
                  "note in the file that the model was trained for antialiased rendering; by default, if the "
                  "input says so",
                  a->given);
  add_backend_options(*command, a->backend);
  command->callback([a] {
    a->output = a->inputs.back();
    a->inputs.pop_back();
    run_convert(*a);
  });
}

}  // namespace stipple
