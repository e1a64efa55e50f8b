// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace stipple {

// A call of a program that may run for minutes.
struct Step {
  std::string what;  // for messages: "finding features"
  std::filesystem::path program;
  std::vector<std::string> arguments;
  int photo_count = 0;  // that it works on; 0 if unknown, then no progress is shown
};

struct StepEnd {
  int status = 0;       // from run_program()
  std::string message;  // the last line of its output that explains anything
};

// Runs steps, shows their progress on stderr and writes their output to a log. If the log cannot be written
// any more, a warning says so, once, and the steps continue.
class StepRunner {
 public:
  explicit StepRunner(std::filesystem::path log);  // throws Error if it cannot be created

  StepEnd run(const Step& step);   // throws Error if interrupted
  void require(const Step& step);  // throws Error unless it succeeds
  [[noreturn]] void fail(const Step& step, const StepEnd& end) const;

 private:
  void write_log(const std::string& line);

  std::filesystem::path path_;
  std::ofstream log_;
};

}  // namespace stipple
