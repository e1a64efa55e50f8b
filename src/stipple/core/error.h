// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>

namespace stipple {

// Something outside the program is not as required: a file, an option, a device. The message is one sentence
// that names the thing and the place. Programming mistakes are assertions, never exceptions.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace stipple
