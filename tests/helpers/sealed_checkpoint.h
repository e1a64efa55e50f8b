// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "stipple/core/checksum.h"
#include "stipple/train/checkpoint_format.h"

namespace stipple {

// A checkpoint with this head and this body, and the checksum that belongs to them.
inline std::string sealed_checkpoint(const CheckpointHead& head, std::string_view body) {
  std::string file(reinterpret_cast<const char*>(&head), sizeof(head));
  file += body;
  const std::uint32_t sum = checksum(0, std::as_bytes(std::span(file)));
  return file.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
}

}  // namespace stipple
