// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/page_policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string_view>

#include "apps/stipple/server/sha256.h"

namespace stipple::http {
namespace {

std::string hex_digest(std::string_view text) {
  std::string hex;
  for (const std::uint8_t byte : sha256(std::as_bytes(std::span(text)))) hex += fmt::format("{:02x}", byte);
  return hex;
}

// Published examples; the lengths are on both sides of where the padding takes a second block.
TEST(Sha256, Examples) {
  EXPECT_EQ(hex_digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex_digest(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

std::string policy(std::string_view html) { return policy_of_page(std::as_bytes(std::span(html))); }

// The hash of "alert(1)" is from `printf 'alert(1)' | openssl dgst -sha256 -binary | base64`.
TEST(PagePolicy, TheScriptsOfThePageAndNoOthersMayRun) {
  constexpr const char* kAlert = "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='";
  EXPECT_NE(policy("<body><script type=\"module\">alert(1)</script>").find(kAlert), std::string::npos);
  EXPECT_EQ(policy("<body><script>alert(2)</script>").find(kAlert), std::string::npos);
  const std::string two = policy("<script></script><p><script>alert(1)</script>");
  EXPECT_NE(two.find("'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"), std::string::npos);
  EXPECT_NE(two.find(kAlert), std::string::npos);
}

TEST(PagePolicy, NeitherOtherScriptsNorOtherHosts) {
  for (const char* html : {"<p>text", "<script", "<script>alert(1)", "<script></scrip", "</script><script"}) {
    const std::string text = policy(html);
    EXPECT_EQ(text.find("sha256"), std::string::npos) << html;
    const std::size_t script = text.find("script-src");
    EXPECT_EQ(text.substr(script, text.find(';', script) - script).find("'unsafe-inline'"),
              std::string::npos);
    EXPECT_EQ(text.find("http"), std::string::npos);
    EXPECT_TRUE(text.starts_with("default-src 'none'"));
  }
}

TEST(PagePolicy, APageWithoutAServerReachesNothing) {
  constexpr std::string_view kHtml = "<body><script>alert(1)</script>";
  const std::string of_file = policy_of_file(std::as_bytes(std::span(kHtml)));
  EXPECT_NE(of_file.find("'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"), std::string::npos);
  EXPECT_NE(of_file.find("connect-src data: blob:;"), std::string::npos);
  EXPECT_EQ(of_file.find("'self'"), std::string::npos);
  EXPECT_EQ(of_file.find("frame-ancestors"), std::string::npos);  // a <meta> with it is an error in browsers
  EXPECT_NE(policy(kHtml).find("connect-src 'self' data: blob:;"), std::string::npos);
  EXPECT_NE(policy(kHtml).find("; frame-ancestors 'none'"), std::string::npos);
}

}  // namespace
}  // namespace stipple::http
