// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stipple {

// Lets a process that Open MPI's mpirun has started run on its share of the machine's cores. By default,
// mpirun binds one or two processes to a single core each, and more of them to a processor each, since it
// expects processes of one thread. Changes nothing if the user has chosen a binding, or for other launchers.
// Call it before the first thread is started.
void share_cores();

}  // namespace stipple
