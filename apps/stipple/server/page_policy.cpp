// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/page_policy.h"

#include <string_view>

#include "apps/stipple/server/sha256.h"

namespace stipple::http {

namespace {

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    unsigned bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < count ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// The hashes of what is between <script ...> and </script>, as sources of a policy.
std::string script_sources(std::string_view html) {
  std::string sources;
  for (std::size_t at = html.find("<script"); at != std::string_view::npos; at = html.find("<script", at)) {
    const std::size_t begin = html.find('>', at), end = html.find("</script", at);
    if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) break;
    const std::string_view script = html.substr(begin + 1, end - begin - 1);
    sources += " 'sha256-" + base64(sha256(std::as_bytes(std::span(script)))) + "'";
    at = end;
  }
  return sources;
}

}  // namespace

std::string policy_of_page(std::span<const std::byte> html) {
  const std::string_view text(reinterpret_cast<const char*>(html.data()), html.size());
  return "default-src 'none'; script-src 'wasm-unsafe-eval' blob:" + script_sources(text) +
         "; worker-src blob:; style-src 'unsafe-inline'; img-src 'self' data: blob:; media-src blob:; "
         "font-src data:; "
         "connect-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

}  // namespace stipple::http
