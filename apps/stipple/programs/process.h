// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace stipple {

// The program of this name in PATH; empty if there is none.
std::filesystem::path find_program(const std::string& name);

// Runs a program without a shell. Its stdout and stderr go to `on_line`, line by line; long lines are cut
// (programs/output_lines.h). Its stdin is empty. Returns its exit status or, if a signal ended it, 128 + the
// signal, as shells do. After an interrupt (terminal/interrupt.h), the program and its child processes get
// SIGTERM and, if they do not end, SIGKILL. Child processes that it leaves behind are killed, and so are all
// of them if this process ends, for whatever reason (programs/process_group.h), or if on_line throws.
int run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                const std::function<void(const std::string&)>& on_line);

// The status that run_program() returned, for messages: "exit status 3".
std::string describe_status(int status);

}  // namespace stipple
