// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/terminal/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace stipple {

void open_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) != -1) continue;
    if (open("/dev/null", O_RDWR) != file) return;  // it takes the lowest free number, which is this one
  }
}

namespace {

bool has_lost_output = false;
bool reports_only_errors = false;

}  // namespace

void report_only_errors() { reports_only_errors = true; }

void write_output(const std::string& text) {
  if (reports_only_errors) return;
  const std::string shown = visible(text, true);
  // Flushed, so that another program can follow the output of a long command.
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) != shown.size() || std::fflush(stdout) != 0)
    has_lost_output = true;
}

bool output_was_lost() { return has_lost_output; }

void ignore_closed_pipes() { std::signal(SIGPIPE, SIG_IGN); }

std::string visible(const std::string& text, bool keeps_lines) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool is_wide_control = byte == 0xc2 && 0x80 <= next && next <= 0x9f;  // U+0080 to U+009F in UTF-8
    const bool is_control = byte < 0x20 || byte == 0x7f || is_wide_control;
    const bool is_kept = byte == '\t' || (byte == '\n' && keeps_lines);
    if (is_control && !is_kept)
      result += fmt::format("\\x{:02x}", is_wide_control ? next : byte);
    else
      result += text[i];
    if (is_wide_control) ++i;
  }
  return result;
}

void write_message(const std::string& text) {
  if (!reports_only_errors) write_error(text);
}

void write_error(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace stipple
