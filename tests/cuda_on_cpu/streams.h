// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams whose work is done as late as a GPU may do it: when somebody waits for it. So a wait that is
// missing, of the host or of another stream, shows every time. With STIPPLE_STREAMS=early in the environment,
// all work is done as early as a GPU may, at once; with STIPPLE_STREAMS=beside_early, that of streams with a
// priority is.
#include <cuda_runtime_api.h>

#include <functional>

namespace cuda_on_cpu {

void enqueue(cudaStream_t stream, std::function<void()> work);

}  // namespace cuda_on_cpu
