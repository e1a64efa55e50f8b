// SPDX-License-Identifier: Apache-2.0
#pragma once
// NCCL, NVIDIA's library for communication between GPUs. It is loaded when several ranks with GPUs of their
// own train one model, if it is installed: no other program needs it, and a build does not.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "stipple/core/error.h"

namespace stipple::cuda {

// The functions that are used, with the types of NCCL's interface (version 2).
struct Nccl {
  struct UniqueId {
    char internal[128];
  };
  using Communicator = struct NcclCommunicator*;  // opaque
  static constexpr int kSuccess = 0, kBytes = 0;  // ncclSuccess, ncclInt8

  int (*get_unique_id)(UniqueId*);
  int (*init_rank)(Communicator*, int count, UniqueId, int rank);
  int (*destroy)(Communicator);
  int (*abort)(Communicator);
  int (*get_async_error)(Communicator, int*);
  const char* (*get_error_string)(int);
  int (*send)(const void*, std::size_t, int type, int peer, Communicator, cudaStream_t);
  int (*receive)(void*, std::size_t, int type, int peer, Communicator, cudaStream_t);
  int (*group_start)();
  int (*group_end)();

  // Null if it is not installed, or STIPPLE_NCCL=off is in the environment.
  static const Nccl* loaded();

  // Throws Error if a call failed.
  void check(int status, const char* what) const {
    if (status != kSuccess)
      throw Error(std::string("NCCL failed to ") + what + ": " + get_error_string(status));
  }
};

}  // namespace stipple::cuda
