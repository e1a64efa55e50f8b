// SPDX-License-Identifier: Apache-2.0
#pragma once
// Each command has its own file, with one function that adds the command, its options and its action.
#include <CLI/CLI.hpp>

namespace stipple {

void add_sfm(CLI::App& app);
void add_check(CLI::App& app);
void add_export_html(CLI::App& app);
void add_fit(CLI::App& app);
void add_render(CLI::App& app);
void add_eval(CLI::App& app);
void add_compare(CLI::App& app);
void add_completion(CLI::App& app);
void add_info(CLI::App& app);
void add_clean(CLI::App& app);
void add_compress(CLI::App& app);
void add_convert(CLI::App& app);
void add_devices(CLI::App& app);
void add_synth(CLI::App& app);
void add_train(CLI::App& app);
void add_view(CLI::App& app);

}  // namespace stipple
