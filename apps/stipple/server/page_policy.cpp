// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/page_policy.h"

#include <string_view>

#include "apps/stipple/server/sha256.h"
#include "stipple/io/base64.h"

namespace stipple::http {

namespace {

std::string base64_digest(std::string_view text) {
  const auto digest = sha256(std::as_bytes(std::span(text)));
  return encode_base64(std::as_bytes(std::span(digest)));
}

// The hashes of what is between <script ...> and </script>, as sources of a policy.
std::string script_sources(std::string_view html) {
  std::string sources;
  for (std::size_t at = html.find("<script"); at != std::string_view::npos; at = html.find("<script", at)) {
    const std::size_t begin = html.find('>', at), end = html.find("</script", at);
    if (begin == std::string_view::npos || end == std::string_view::npos || end <= begin) break;
    const std::string_view script = html.substr(begin + 1, end - begin - 1);
    sources += " 'sha256-" + base64_digest(script) + "'";
    at = end;
  }
  return sources;
}

// `server` is what stands for the server of the page, if it has one.
std::string policy(std::span<const std::byte> html, const std::string& server) {
  const std::string_view text(reinterpret_cast<const char*>(html.data()), html.size());
  return "default-src 'none'; script-src 'wasm-unsafe-eval' blob:" + script_sources(text) +
         "; worker-src blob:; style-src 'unsafe-inline'; img-src " + server +
         "data: blob:; media-src blob:; font-src data:; connect-src " + server +
         "data: blob:; base-uri 'none'; form-action 'none'";
}

}  // namespace

// Browsers obey frame-ancestors only in the header.
std::string policy_of_page(std::span<const std::byte> html) {
  return policy(html, "'self' ") + "; frame-ancestors 'none'";
}

std::string policy_of_file(std::span<const std::byte> html) { return policy(html, ""); }

}  // namespace stipple::http
