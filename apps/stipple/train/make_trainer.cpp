// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/train/make_trainer.h"

#include <fmt/format.h>

#include <utility>

#include "apps/stipple/run/run_model.h"
#include "apps/stipple/terminal/message.h"
#include "stipple/core/error.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

Trainer resumed_trainer(Backend& backend, const Scene& scene, const RunOptions& options,
                        const fs::path& folder, Ranks& ranks) {
  try {
    return Trainer::resumed(backend, scene, options.train, folder / "checkpoint", ranks);
  } catch (const DamagedCheckpoint& e) {
    throw Error(
        fmt::format("{}; {} is the last model that was saved, and --overwrite --config {} starts the run "
                    "again with its options",
                    e.what(), (folder / "model.ply").string(), (folder / "options.json").string()));
  }
}

Trainer started_trainer(Backend& backend, const Scene& scene, const RunOptions& options, Ranks& ranks) {
  ModelFacts facts;
  Gaussians model = load_model(options.start, &facts);
  const std::size_t count = model.size();
  const bool is_antialiased = options.train.render.antialiased;
  if (facts.antialiased.value_or(is_antialiased) != is_antialiased)
    print_warning(fmt::format("{} was trained {} antialiasing, and this run is {} it; {} changes that",
                              options.start.string(), is_antialiased ? "without" : "with",
                              is_antialiased ? "with" : "without",
                              is_antialiased ? "--no-antialiased" : "--antialiased"));
  Trainer trainer(backend, scene, options.train, std::move(model), ranks);
  if (trainer.dropped_count() > 0)
    print_warning(
        fmt::format("{} of the {} Gaussians in {} were left out: those with values that are not finite, and "
                    "the least important beyond {}",
                    trainer.dropped_count(), count, options.start.string(), limit_of_gaussians(trainer)));
  return trainer;
}

}  // namespace

RunOptions with_whole_path(RunOptions options) {
  if (!options.start.empty()) options.start = fs::absolute(model_file(options.start)).lexically_normal();
  return options;
}

Trainer make_trainer(Backend& backend, const Scene& scene, const RunOptions& options, const fs::path& folder,
                     bool resume, Ranks& ranks) {
  if (resume && fs::exists(folder / "checkpoint"))
    return resumed_trainer(backend, scene, options, folder, ranks);
  if (resume)
    print_warning(fmt::format("there is no checkpoint in {}; training starts from step 0", folder.string()));
  if (!options.start.empty()) return started_trainer(backend, scene, options, ranks);
  return {backend, scene, options.train, ranks};
}

const char* limit_of_gaussians(const Trainer& trainer) {
  return trainer.memory_cap() > 0 ? "what the device's memory allows" : "--max-gaussians";
}

}  // namespace stipple
