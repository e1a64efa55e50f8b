// SPDX-License-Identifier: Apache-2.0
#pragma once
// The flags of the options of a run, and of those that say how a scene's photos are read.
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

}  // namespace stipple
