// SPDX-License-Identifier: Apache-2.0
#pragma once
// The standard input, output and error of the process, which whoever starts it may have closed, or connected
// to a disk that is full.
#include <string>

namespace stipple {

// Connects those that are closed to /dev/null. Otherwise the next file to be opened would take their place,
// and receive the messages.
void open_standard_files();

// Writes to the standard error. A message that cannot be delivered is dropped: it must not end a run.
void write_message(const std::string& text);

}  // namespace stipple
