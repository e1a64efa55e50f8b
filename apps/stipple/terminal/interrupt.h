// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stipple {

// After this call, the first Ctrl-C, SIGTERM or SIGHUP does not end the program but makes interrupted() true,
// so that it can stop and save. A second Ctrl-C or SIGTERM ends it. A second SIGHUP does not: when a terminal
// is closed, both the shell and the system may send one. After nohup, SIGHUP stays ignored.
void catch_interrupts();
bool interrupted();

// Throws Error if interrupted(), for a command that writes its output at its end.
void stop_if_interrupted();

}  // namespace stipple
