// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/access.h"

#include <gtest/gtest.h>

namespace stipple::http {
namespace {

TEST(Access, TokensAreLongAndDiffer) {
  const std::string a = random_token(), b = random_token();
  EXPECT_EQ(a.size(), 32u);
  EXPECT_EQ(a.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(a, b);
}

TEST(Access, LoopbackHosts) {
  for (const char* host : {"localhost", "localhost:8080", "LocalHost:1", "127.0.0.1", "127.0.0.1:8080",
                           "127.200.3.4:9", "[::1]", "[::1]:8080", "[0:0:0:0:0:0:0:1]:80", "localhost:"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
  for (const char* host : {"",
                           ":8080",
                           "evil.example",
                           "localhost.evil.example:8080",
                           "127.0.0.1.evil.example",
                           "127.1",
                           "0.0.0.0:8080",
                           "10.0.0.1",
                           "0x7f.0.0.1",
                           "2130706433",
                           "127.0.0.1@evil.example",
                           "localhost@evil.example:80",
                           "localhost.",
                           "localhost.:8080",
                           "a.localhost",
                           "[::ffff:127.0.0.1]:8080",
                           "[::1%lo]",
                           "[::1]:80:80",
                           "[::2]:8080",
                           "[::1",
                           "[::1]x",
                           "[",
                           "[]",
                           "::1",
                           "localhost:80x",
                           "localhost:123456",
                           "localhost:80:80",
                           "xlocalhost",
                           "localhost "})
    EXPECT_FALSE(is_loopback_host(host)) << host;
}

bool is_allowed(const Asked& asked, std::string_view token = "") { return why_refused(asked, token).empty(); }

TEST(Access, WithoutATokenTheHostMustBeThisMachine) {
  EXPECT_TRUE(is_allowed({.host = "localhost:9000", .token = ""}));
  EXPECT_FALSE(is_allowed({.host = "rebound.example:8080", .token = ""}));
  EXPECT_FALSE(is_allowed({.host = "rebound.example", .origin = "http://rebound.example", .token = ""}));
}

TEST(Access, WithATokenItMustBeRight) {
  EXPECT_TRUE(is_allowed({.host = "any.example", .token = "c0ffee"}, "c0ffee"));
  for (const char* wrong : {"", "c0ffe", "c0ffee0", "C0FFEE", "c0ffed"})
    EXPECT_FALSE(is_allowed({.host = "localhost", .token = wrong}, "c0ffee")) << wrong;
}

TEST(Access, AServerWithoutATokenIgnoresOne) {
  EXPECT_TRUE(is_allowed({.host = "localhost", .token = "of another server"}));
}

TEST(Access, AnOriginMustBeTheHost) {
  const auto allows = [](const char* origin) {
    return is_allowed({.host = "localhost:8080", .origin = origin, .token = ""});
  };
  EXPECT_TRUE(allows("http://localhost:8080"));
  EXPECT_TRUE(allows("https://LOCALHOST:8080"));
  for (const char* other :
       {"", "null", "localhost:8080", "http://localhost", "http://localhost:8081", "http://127.0.0.1:8080",
        "http://evil.example", "http://localhost:8080.evil.example", "file://localhost:8080",
        "http://localhost:8080/"})
    EXPECT_FALSE(allows(other)) << other;
  EXPECT_FALSE(is_allowed({.host = "a.example", .origin = "http://evil.example", .token = "t"}, "t"));
}

// A page of another site shows no origin when it asks for an image or a script.
TEST(Access, PartsOfAnotherPageAreRefused) {
  const auto allows = [](const char* site, const char* mode) {
    return is_allowed({.host = "localhost", .fetch_site = site, .fetch_mode = mode});
  };
  for (const char* mode : {"no-cors", "cors", "same-origin", "websocket", ""}) {
    EXPECT_TRUE(allows("same-origin", mode)) << mode;
    EXPECT_TRUE(allows("", mode)) << mode;  // not a browser, or an old one
    EXPECT_FALSE(allows("cross-site", mode)) << mode;
    EXPECT_FALSE(allows("same-site", mode)) << mode;  // another port of this machine
  }
  EXPECT_TRUE(allows("none", "navigate"));        // typed by the visitor
  EXPECT_TRUE(allows("cross-site", "navigate"));  // a link on another page
}

}  // namespace
}  // namespace stipple::http
