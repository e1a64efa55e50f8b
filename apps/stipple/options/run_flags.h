// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flags for the options of a run (add_run_flags), or only for those of its scene (add_scene_flags).
#include <CLI/CLI.hpp>
#include <string>

#include "stipple/options/resolve.h"

namespace stipple {

struct RunFlags {
  OptionTexts given;
  std::string preset;
  std::string config;  // options.json of an earlier run; empty means none
};

void add_run_flags(CLI::App& command, RunFlags& flags);
void add_scene_flags(CLI::App& command, OptionTexts& given);

// Throws Error naming the file if `config` is not a valid options.json, and OptionError as resolve() does.
RunOptions resolve(const RunFlags& flags);
RunOptions resolve(const RunFlags& flags, const Scene& scene);

}  // namespace stipple
