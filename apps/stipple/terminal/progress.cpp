// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/terminal/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/standard_files.h"

namespace stipple {

namespace {

constexpr int kBarWidth = 24;
constexpr double kTerminalInterval_s = 0.1, kPlainInterval_s = 5;

std::string bar(int done, int total) {
  int filled = total > 0 ? kBarWidth * done / total : kBarWidth;
  return std::string(filled, '#') + std::string(kBarWidth - filled, '.');
}

}  // namespace

Progress::Progress(int total, int done_before)
    : total_(total),
      done_before_(done_before),
      on_terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_drawn_(start_) {}

Progress::~Progress() {
  if (line_is_open_) write_message("\n");
}

void Progress::exclude(double seconds) {
  start_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

bool Progress::is_due() const {
  const double since = std::chrono::duration<double>(Clock::now() - last_drawn_).count();
  return since >= (on_terminal_ ? kTerminalInterval_s : kPlainInterval_s);
}

void Progress::update(int done, const std::string& note) {
  if (is_due()) draw(done, note, time_left(done));
}

void Progress::finish(int done, const std::string& note) {
  draw(done, note, format_duration(seconds()));  // the task may have ended early
  if (line_is_open_) write_message("\n");
  line_is_open_ = false;
}

double Progress::rate(int done) const { return (done - done_before_) / std::max(seconds(), 1e-9); }

std::string Progress::time_left(int done) const {
  return done > done_before_ ? format_duration((total_ - done) / rate(done)) + " left" : "";
}

void Progress::draw(int done, const std::string& note, const std::string& time) {
  last_drawn_ = Clock::now();
  std::string line = fmt::format("{}/{}  {}  {}", done, total_, note, time);
  if (on_terminal_) {
    write_message(fmt::format("\r[{}] {}\033[K", bar(done, total_), line));
    line_is_open_ = true;
  } else {
    write_message(line + "\n");
  }
}

}  // namespace stipple
