// SPDX-License-Identifier: Apache-2.0
#pragma once
// From what a user gave to the options of a run: the same for the command and for Python.
#include <map>
#include <string>
#include <vector>

#include "stipple/options/run_options.h"

namespace stipple {

using OptionTexts = std::map<std::string, std::string>;  // value as text, by the option's name

struct GivenOptions {
  OptionTexts given;
  std::string preset;   // empty means none
  OptionTexts earlier;  // the options of an earlier run, which take precedence over the preset; may be empty
};

// The names that GivenOptions::preset may have.
std::vector<std::string> preset_names();

// In order of increasing precedence: the defaults of the strategy, the preset, the earlier run, what is
// given. Throws UnknownOption for a
// given option that does not exist, and OptionError for one whose value makes no sense.
RunOptions resolve(const GivenOptions& options);

// The options as text. resolve() of these as `earlier` gives the same options.
OptionTexts to_texts(const RunOptions& options);

}  // namespace stipple
