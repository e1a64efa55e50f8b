// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <span>

namespace stipple {

// Takes the bytes of a file in their order: writes them, or keeps them.
using ByteSink = std::function<void(std::span<const std::byte>)>;

}  // namespace stipple
