// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace stipple {

// The program of this name in PATH; empty when there is none.
std::filesystem::path find_program(const std::string& name);

// Runs a program, by its path, with these arguments as they are: no shell sees them. What it prints on stdout
// and stderr goes to `on_line`, line by line; from stdin it gets nothing. Returns its exit status or, when a
// signal ended it, 128 + that signal, as shells do. After an interrupt (terminal/interrupt.h) the program,
// with all that it started, is asked to end, then made to.
int run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                const std::function<void(const std::string&)>& on_line);

}  // namespace stipple
