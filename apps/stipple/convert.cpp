// SPDX-License-Identifier: Apache-2.0
// stipple convert: models from one format to another, joined and edited on the way; and scenes
// (convert_scene.h).
#include <fmt/format.h>

#include <limits>
#include <memory>
#include <optional>

#include "apps/stipple/commands.h"
#include "apps/stipple/convert/cost.h"
#include "apps/stipple/convert/edits.h"
#include "apps/stipple/convert/format_flags.h"
#include "apps/stipple/convert/report.h"
#include "apps/stipple/convert_scene.h"
#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/run/run_folder.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/terminal/message.h"
#include "stipple/core/error.h"
#include "stipple/edit/join.h"
#include "stipple/edit/transform.h"
#include "stipple/io/input_file.h"
#include "stipple/model/model_file.h"
#include "stipple/options/resolve.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

struct ConvertArguments {
  std::vector<std::string> inputs;
  std::string output, scene, psnr;
  EditFlags edits;
  FormatFlags formats;
  BackendChoice backend;
  bool json = false;
  SceneFlags scene_flags;
};

// Called before the work, so that a mistake is reported at once.
void check_files(const ConvertArguments& a) {
  check_model_output(a.output);
  check_flags_of_output(a.formats, a.output);
  for (const std::string& input : a.inputs) {
    const fs::path file = model_file(input);
    InputFile{file, 1};  // throws if it cannot be read
    std::error_code missing;
    if (fs::equivalent(file, main_file(a.output), missing))
      throw Error(fmt::format("{}: this is also an input; give the converted model another name", a.output));
  }
}

FileFacts facts_of(const fs::path& file, const Gaussians& gaussians, ModelFacts facts) {
  return {file.string(), std::move(facts), model_bytes(file), gaussians.size(), gaussians.sh_degree};
}

// The models in one, which is rendered as the first of them.
RunModel load_inputs(const ConvertArguments& a, std::vector<FileFacts>& files) {
  RunModel whole;
  for (const std::string& input : a.inputs) {
    RunModel part = load_run_model(input, load_options(a.formats));
    if (a.formats.gives_frame_of_inputs()) part.facts.frame_is_assumed = false;
    part.facts.antialiased = part.render.antialiased;  // which a run knows better than its file
    files.push_back(facts_of(model_file(input), part.gaussians, part.facts));
    if (files.size() == 1)
      whole = std::move(part);
    else
      append(std::move(part.gaussians), whole.gaussians);
  }
  return whole;
}

void warn(const ConvertArguments& a, const std::vector<FileFacts>& inputs) {
  for (const FileFacts& input : inputs) {
    const ModelFacts& facts = input.facts;
    if (!facts.left_out.empty())
      print_warning(fmt::format("{}: {} are left out", input.path, facts.left_out));
    if (facts.antialiased != inputs.front().facts.antialiased && !a.formats.gives_antialiased())
      print_warning(
          fmt::format("{} and {} differ in whether they were trained for antialiased rendering; give "
                      "--antialiased or --no-antialiased",
                      inputs.front().path, input.path));
  }
}

std::optional<Scene> load_cameras(const ConvertArguments& a, const std::string& folder) {
  if (folder.empty()) return {};
  SceneOptions options;
  if (has_run_record(a.inputs.front())) options = load_run_record(a.inputs.front()).scene_options;
  options.random_point_count = 0;  // only the views are needed
  return load_scene(folder, options);
}

// What is in the file, since not every format can hold all of a model.
FileFacts read_back(const ConvertArguments& a, Gaussians& gaussians) {
  ModelFacts facts;
  LoadModelOptions options;
  options.spz_frame = save_options(a.formats, false).spz_frame;
  gaussians = load_model(a.output, &facts, options);
  return facts_of(a.output, gaussians, facts);
}

ConversionCost measure(const ConvertArguments& a, const Scene& scene, const SimilarityTransform& new_from_old,
                       Backend& backend, Gaussians converted) {
  std::vector<FileFacts> ignored;
  RunModel original = load_inputs(a, ignored);
  original.render.antialiased = save_options(a.formats, original.render.antialiased).antialiased;
  transform(inverse(new_from_old), converted);  // to where the cameras are
  // A file does not say over what it was rendered in training; objects are scored over white.
  if (!has_run_record(a.inputs.front()))
    original.render.background = resolve(GivenOptions{}, scene).train.render.background;
  return conversion_cost(backend, original.gaussians, converted, scene, original.render);
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
  conversion.scene = a.psnr;
  Gaussians gaussians;
  {
    RunModel model = load_inputs(a, conversion.inputs);
    std::vector<std::string> formats;
    for (const FileFacts& input : conversion.inputs) formats.push_back(input.facts.format);
    check_flags_of_inputs(a.formats, formats);
    warn(a, conversion.inputs);
    gaussians = std::move(model.gaussians);
    const Scene* views = other_scene ? &*other_scene : scene ? &*scene : nullptr;
    conversion.removed = edit(a.edits, new_from_old, views, gaussians);
    save_model(gaussians, a.output, save_options(a.formats, model.render.antialiased));
  }
  gaussians = {};
  conversion.output = read_back(a, gaussians);
  if (scene) conversion.cost = measure(a, *scene, new_from_old, *backend, std::move(gaussians));
  if (a.json)
    print_json(conversion);
  else
    print_text(conversion);
}

}  // namespace

void add_convert(CLI::App& app) {
  auto a = std::make_shared<ConvertArguments>();
  CLI::App* command = app.add_subcommand("convert",
                                         "Convert models between formats; join, crop, prune, transform and "
                                         "reorder them; or convert a scene (--to)");
  // One list, since CLI11 leaves nothing for a name behind a list.
  command
      ->add_option(
          "files", a->inputs,
          fmt::format("in... out: each input is a {}; several are joined. The last name is the {} to "
                      "write; its ending tells the format",
                      model_help(), written_model_help()))
      ->required()
      ->expected(1, std::numeric_limits<int>::max());
  auto* scene = command->add_option(
      "--scene", a->scene,
      "folder of the scene, whose cameras tell which Gaussians are most visible (--max-gaussians)");
  command->add_option(
      "--psnr", a->psnr,
      "folder of the scene, from whose cameras the original and the file that was written are "
      "rendered, to show what the conversion cost");
  command->add_flag("--json", a->json, "print the result as JSON");
  add_edit_flags(*command, a->edits);
  scene->needs(command->get_option("--max-gaussians"));
  add_format_flags(*command, a->formats);
  add_backend_options(*command, a->backend);
  add_scene_flags_of_convert(*command, a->scene_flags);
  command->callback([a] {
    if (a->inputs.size() < 2) throw CLI::ArgumentMismatch("give an input and, as the last name, the output");
    a->output = a->inputs.back();
    a->inputs.pop_back();
    if (a->scene_flags.to.empty())
      run_convert(*a);
    else
      convert_scene(a->inputs, a->output, a->scene_flags);
  });
}

}  // namespace stipple
