// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple::cuda {

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options);
std::string why_cuda_is_unusable();  // a sentence; empty when it is usable
std::vector<DeviceInfo> list_cuda_devices();

}  // namespace stipple::cuda
