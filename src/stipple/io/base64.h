// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stipple {

// The bytes that base64 (RFC 4648) stands for, with or without padding; nothing if the text is not base64.
std::optional<std::vector<std::byte>> decode_base64(std::string_view text);

std::string encode_base64(std::span<const std::byte> bytes);  // with padding

}  // namespace stipple
