// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/step_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/stipple/programs/process.h"
#include "apps/stipple/programs/shell_line.h"
#include "apps/stipple/programs/step_output.h"
#include "apps/stipple/terminal/interrupt.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/standard_files.h"
#include "stipple/core/error.h"

namespace stipple {

namespace {

class StepProgress {
 public:
  explicit StepProgress(const Step& step) : photo_count_(step.photo_count), progress_(step.photo_count) {
    write_message(step.what + std::string("\n"));
  }

  void read(const std::string& line) {
    const auto count = step_count(line);
    if (!count) return;
    // Blocks are converted to photos, so that all steps show the same unit.
    const double done = count->total > 0 ? photo_count_ * count->done / count->total : count->done;
    // The mapper starts again from 0 for every model.
    done_ = static_cast<int>(std::clamp<double>(done, done_, photo_count_));
    progress_.update(done_, "photos");
  }

  void finish() {
    if (photo_count_ > 0) progress_.finish(done_, "photos");
  }

 private:
  int photo_count_, done_ = 0;
  Progress progress_;
};

std::vector<std::string> words_of(const Step& step) {
  std::vector<std::string> words = step.arguments;
  words.insert(words.begin(), step.program.string());
  return words;
}

}  // namespace

StepRunner::StepRunner(std::filesystem::path log) : path_(std::move(log)), log_(path_) {
  if (!log_) throw Error(fmt::format("cannot write {}", path_.string()));
}

// A log that cannot be written, on a full disk for example, is no reason to give up hours of work.
void StepRunner::write_log(const std::string& line) {
  if (!log_) return;
  log_ << line << std::endl;  // flushed, so that the log can be followed
  if (!log_)
    print_warning(
        fmt::format("cannot write {}; the programs' output is not recorded any more", path_.string()));
}

StepEnd StepRunner::run(const Step& step) {
  write_log("$ " + shell_line(words_of(step)));
  StepProgress progress(step);
  StepEnd end;
  end.status = run_program(step.program, step.arguments, [&](const std::string& line) {
    write_log(line);
    progress.read(line);
    if (std::string message = message_of(line); !message.empty()) end.message = std::move(message);
  });
  if (interrupted()) throw Error(fmt::format("interrupted while {}; there is no scene yet", step.what));
  if (end.status == 0) progress.finish();
  return end;
}

void StepRunner::require(const Step& step) {
  const StepEnd end = run(step);
  if (end.status != 0) fail(step, end);
}

void StepRunner::fail(const Step& step, const StepEnd& end) const {
  throw Error(fmt::format("{} failed while {} ({}){}{}; {} {}", step.program.filename().string(), step.what,
                          describe_status(end.status), end.message.empty() ? "" : ": ", end.message,
                          log_ ? "its output is in" : "its output could not be written to", path_.string()));
}

}  // namespace stipple
