// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stipple {

// After this call, the first Ctrl-C or SIGTERM does not end the program but makes interrupted() true, so that
// it can stop and save. A second signal of the same kind ends it.
void catch_interrupts();
bool interrupted();

}  // namespace stipple
