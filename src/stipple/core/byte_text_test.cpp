// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/byte_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "stipple/core/random.h"

namespace stipple {
namespace {

bool is_utf8(const std::string& text) {
  try {
    return nlohmann::json(text).dump().size() > 0;  // throws if it is not
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

TEST(ByteText, KeepsUtf8) {
  for (const std::string text : {"", "a.png", "\xc3\xa9t\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(utf8_from_bytes(text), text);
    EXPECT_EQ(bytes_from_utf8(text), text);
  }
}

TEST(ByteText, LosesNoByte) {
  EXPECT_EQ(utf8_from_bytes("a\xff.png"), "a\xf4\x8f\xbf\xbf.png");  // U+10FFFF
  EXPECT_EQ(utf8_from_bytes("\x80"), "\xf4\x8f\xbe\x80");            // U+10FF80
  // Bytes that look like a stand-in, cut characters, overlong forms and surrogates.
  for (const std::string bytes :
       {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbe\x80", "\xe2\x82", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xe0\x80\x80", "a\xc3"}) {
    EXPECT_NE(utf8_from_bytes(bytes), bytes);
    EXPECT_TRUE(is_utf8(utf8_from_bytes(bytes)));
    EXPECT_EQ(bytes_from_utf8(utf8_from_bytes(bytes)), bytes);
  }
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes;
    for (std::uint64_t n = random.below(8); n > 0; --n) bytes += static_cast<char>(0x7c + random.below(0x84));
    ASSERT_TRUE(is_utf8(utf8_from_bytes(bytes)));
    ASSERT_EQ(bytes_from_utf8(utf8_from_bytes(bytes)), bytes);
  }
}

}  // namespace
}  // namespace stipple
