// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a page may do in the browser: a Content-Security-Policy.
#include <cstddef>
#include <span>
#include <string>

namespace stipple::http {

// Of a page that is one file: it runs the scripts that are in it and no other, and reaches no other host.
std::string policy_of_page(std::span<const std::byte> html);

// Of such a page that has no server and states its policy in a <meta>: it reaches nothing outside of itself.
std::string policy_of_file(std::span<const std::byte> html);

// Of anything that is not a page.
constexpr const char* kNoPagePolicy = "default-src 'none'; frame-ancestors 'none'";

}  // namespace stipple::http
