// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors and warnings on stderr: one line each, in colour on a terminal unless NO_COLOR is set.
#include <string>

#include "stipple/core/error.h"
#include "stipple/scene/scene.h"

namespace stipple {

void print_error(const std::string& message);    // "stipple: <message>"
void print_warning(const std::string& message);  // "warning: <message>"

// An error that has been printed: the program only has to end.
class ReportedError : public Error {
 public:
  using Error::Error;
};

// The error's message with options spelled as flags, followed by the flags that can avoid the error.
std::string describe(const Error& error);

// "<advice> See --images.", or the advice alone if no option helps.
std::string advice_of(const SceneProblem& problem);

}  // namespace stipple
