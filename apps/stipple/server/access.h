// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who may use a server (docs/viewer.md).
#include <optional>
#include <string>
#include <string_view>

namespace stipple::http {

// 128 bits from the random source of the system, as 32 hexadecimal digits. Throws Error.
std::string random_token();

// Whether a Host header names the loopback interface, with any port: `ssh -L` may have forwarded another one.
bool is_loopback_host(std::string_view host);

// What the rules look at: headers, which are empty where there is none, and the token of the query.
struct Asked {
  std::string_view host{};
  std::optional<std::string_view> origin{};
  std::string_view token{};
  std::string_view fetch_site{}, fetch_mode{};  // Sec-Fetch-Site, Sec-Fetch-Mode
};

// A sentence that says why this may not be answered; empty if it may. A server without a token can only be
// reached from this machine.
std::string_view why_refused(const Asked& asked, std::string_view token);

}  // namespace stipple::http
