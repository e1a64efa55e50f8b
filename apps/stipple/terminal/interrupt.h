// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stipple {

// From here on Ctrl-C and SIGTERM no longer end the program at once: they ask it to stop and save. A second
// one does end it.
void catch_interrupts();
bool interrupted();

}  // namespace stipple
