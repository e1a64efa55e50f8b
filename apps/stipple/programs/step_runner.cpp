// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/step_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdint>

#include "apps/stipple/programs/process.h"
#include "apps/stipple/programs/step_output.h"
#include "apps/stipple/terminal/interrupt.h"
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
    const int done = count->total > 0
                         ? static_cast<int>(std::int64_t{photo_count_} * count->done / count->total)
                         : count->done;
    done_ = std::clamp(done, done_, photo_count_);  // the mapper starts again from 0 for every model
    progress_.update(done_, "photos");
  }

  void finish() {
    if (photo_count_ > 0) progress_.finish(done_, "photos");
  }

 private:
  int photo_count_, done_ = 0;
  Progress progress_;
};

std::string how_it_ended(int status) {
  if (status == 128 + SIGKILL) return "killed, most likely because memory ran out";
  if (status > 128) return fmt::format("signal {}", status - 128);
  return fmt::format("exit status {}", status);
}

}  // namespace

StepRunner::StepRunner(std::filesystem::path log) : path_(std::move(log)), log_(path_) {
  if (!log_) throw Error(fmt::format("cannot write {}", path_.string()));
}

StepEnd StepRunner::run(const Step& step) {
  log_ << "$ " << step.program.string();
  for (const std::string& argument : step.arguments) log_ << ' ' << argument;
  log_ << std::endl;
  StepProgress progress(step);
  StepEnd end;
  end.status = run_program(step.program, step.arguments, [&](const std::string& line) {
    log_ << line << std::endl;  // flushed, so that the log can be followed
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
  throw Error(fmt::format("{} failed while {} ({}){}{}; its output is in {}",
                          step.program.filename().string(), step.what, how_it_ended(end.status),
                          end.message.empty() ? "" : ": ", end.message, path_.string()));
}

}  // namespace stipple
