// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stipple {

// Something outside the program is not as required: a file, an option, a device. The message is one sentence
// that names the thing and the place. Programming mistakes are assertions, never exceptions.
class Error : public std::runtime_error {
 public:
  // `options` names options of a run (options/run_options.h) whose values can avoid the error. They are not
  // part of the message, since the command and Python spell them differently.
  explicit Error(const std::string& message, std::vector<std::string> options = {})
      : std::runtime_error(message), options_(std::move(options)) {}

  const std::vector<std::string>& options() const { return options_; }

 private:
  std::vector<std::string> options_;
};

// An option has an invalid value. The message is the option's name, a space and
// the problem: "steps must be at least 1".
class OptionError : public Error {
 public:
  OptionError(const std::string& option, const std::string& problem)
      : Error(option + " " + problem), option_(option), problem_(problem) {}

  const std::string& option() const { return option_; }
  const std::string& problem() const { return problem_; }

 private:
  std::string option_, problem_;
};

// There is no option of this name.
class UnknownOption : public OptionError {
 public:
  using OptionError::OptionError;
};

}  // namespace stipple
