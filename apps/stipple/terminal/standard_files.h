// SPDX-License-Identifier: Apache-2.0
#pragma once
// The standard input, output and error of the process, which whoever starts it may have closed, or connected
// to a disk that is full.
#include <fmt/format.h>

#include <string>
#include <utility>

namespace stipple {

// Connects those that are closed to /dev/null. Otherwise the next file to be opened would take their place,
// and receive the messages.
void open_standard_files();

// For one of several processes that do the same: drops all messages and output from now on, but not errors.
void report_only_errors();

// Writes to the standard error. A message that cannot be delivered is dropped: it must not end a run.
void write_message(const std::string& text);
void write_error(const std::string& text);

// Writes to the standard output, with control characters other than line ends made visible. What cannot be
// delivered is dropped, and output_was_lost() is true from then on: by the time a long command prints its
// result, its files are what counts.
void write_output(const std::string& text);
bool output_was_lost();

template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  write_output(fmt::format(format, std::forward<Values>(values)...));
}

// A reader that goes away (`stipple train ... | head -n 1`) does not end the program from now on.
void ignore_closed_pipes();

// The text with control characters as \x1b and the like. Names come from the files of a scene, which others
// may have made, and an escape sequence in a name could make a terminal show or do anything.
std::string visible(const std::string& text, bool keeps_lines);

}  // namespace stipple
