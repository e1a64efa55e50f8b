// SPDX-License-Identifier: Apache-2.0
#pragma once
// What single formats offer: SaveModelOptions and LoadModelOptions as flags.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "stipple/model/model_file.h"
#include "stipple/options/resolve.h"

namespace stipple {

struct FormatFlags {
  OptionTexts given;

  bool gives_antialiased() const;
  bool gives_frame_of_inputs() const;
};

void add_format_flags(CLI::App& command, FormatFlags& flags);

// Throws OptionError if a flag is for another format than that of the output.
void check_flags_of_output(const FormatFlags& flags, const std::string& output);

// The same for the inputs: `formats` are theirs, as in ModelFacts.
void check_flags_of_inputs(const FormatFlags& flags, const std::vector<std::string>& formats);

LoadModelOptions load_options(const FormatFlags& flags);

// `antialiased` is what the inputs say; a flag overrides it.
SaveModelOptions save_options(const FormatFlags& flags, bool antialiased);

}  // namespace stipple
