// SPDX-License-Identifier: Apache-2.0
#pragma once
// Turns what a user gave into the options of a run, in the same way for the command and for Python.
#include <map>
#include <string>
#include <vector>

#include "stipple/options/run_options.h"

namespace stipple {

using OptionTexts = std::map<std::string, std::string>;  // option's name to its value as text

struct GivenOptions {
  OptionTexts given;
  std::string preset;   // empty means none
  OptionTexts earlier;  // the options of an earlier run, which take precedence over the preset; may be empty
};

// The valid values of GivenOptions::preset.
std::vector<std::string> preset_names();

// Combines, in order of increasing precedence, the defaults of the strategy, the preset, the options of the
// earlier run and the given options. Throws UnknownOption for a given option that does not exist, and
// OptionError for an option with an invalid value.
RunOptions resolve(const GivenOptions& options);

// The same once the scene is loaded: with the use of alpha that was recognised, and what follows from it.
RunOptions resolve(GivenOptions options, const Scene& scene);

// The options as text. If they are given to resolve() as `earlier`, it returns the same options.
OptionTexts to_texts(const RunOptions& options);

}  // namespace stipple
