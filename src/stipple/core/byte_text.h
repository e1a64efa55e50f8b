// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of files are bytes, but JSON is UTF-8.
#include <string>
#include <string_view>

namespace stipple {

// The same text if it is valid UTF-8. A byte 0x80 to 0xff that is not part of a valid character becomes one
// of the last 128 characters of Unicode, U+10FF80 to U+10FFFF, which have no other use, so that nothing is
// lost.
std::string utf8_from_bytes(std::string_view bytes);
std::string bytes_from_utf8(std::string_view text);  // the inverse

}  // namespace stipple
