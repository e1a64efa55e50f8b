// SPDX-License-Identifier: Apache-2.0
#include "tests/helpers/gpu_rooms.h"

#include "stipple/backend/backend.h"
#ifdef STIPPLE_CUDA
#include "stipple/backend/cuda/cuda_backend.h"
#endif
#ifdef STIPPLE_VULKAN
#include "stipple/backend/vulkan/vulkan_backend.h"
#endif

namespace stipple {

// A build without GPU backends uses neither parameter.
RoomPredictor& rooms_of([[maybe_unused]] Backend& backend, [[maybe_unused]] Pass& pass) {
#ifdef STIPPLE_CUDA
  if (auto* cuda = dynamic_cast<cuda::CudaBackend*>(&backend)) return cuda->own(pass).rooms;
#endif
#ifdef STIPPLE_VULKAN
  if (auto* vulkan = dynamic_cast<vulkan::VulkanBackend*>(&backend)) return vulkan->own(pass).rooms;
#endif
  throw Error("the backend predicts no capacities");
}

}  // namespace stipple
