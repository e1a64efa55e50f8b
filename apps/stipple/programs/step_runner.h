// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace stipple {

// A program that runs for minutes.
struct Step {
  std::string what;  // "finding features"
  std::filesystem::path program;
  std::vector<std::string> arguments;
  int photo_count = 0;  // how many it works on; 0: nobody knows, and there is no progress to tell
};

struct StepEnd {
  int status = 0;       // as run_program() has it
  std::string message;  // the last line that explains anything
};

// Runs steps with their progress on stderr, and all that they print in a log.
class StepRunner {
 public:
  explicit StepRunner(std::filesystem::path log);

  StepEnd run(const Step& step);   // Error when interrupted
  void require(const Step& step);  // Error unless it succeeds
  [[noreturn]] void fail(const Step& step, const StepEnd& end) const;

 private:
  std::filesystem::path path_;
  std::ofstream log_;
};

}  // namespace stipple
