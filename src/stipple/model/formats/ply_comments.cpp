// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/ply_comments.h"

#include "stipple/io/text.h"

namespace stipple {

std::optional<bool> antialiased_in(std::span<const std::string> comments) {
  std::optional<bool> antialiased;
  for (const std::string& comment : comments) {
    std::string_view words = comment;
    const std::string_view key = take_word(words), value = take_word(words);
    if (key == "SplatRenderMode:") {
      antialiased = value == "mip";
    } else if (key == "antialiased") {
      antialiased = value == "1";
    }
  }
  return antialiased;
}

}  // namespace stipple
