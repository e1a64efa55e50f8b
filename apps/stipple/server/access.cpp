// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/access.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "stipple/core/error.h"

namespace stipple::http {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool is_port(std::string_view text) {
  return text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The name in "name:port", "name" or "[::1]:port"; empty if this is not one.
std::string_view name_of(std::string_view host) {
  const std::size_t name_end = host.starts_with('[') ? host.find(']') + 1 : host.find(':');  // 0: no ']'
  const std::string_view name = host.substr(0, name_end);
  const std::string_view rest = host.substr(name.size());
  return rest.empty() || (rest[0] == ':' && is_port(rest.substr(1))) ? name : std::string_view();
}

bool is_loopback_v4(const std::string& name) {
  in_addr address{};
  return inet_pton(AF_INET, name.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

bool is_loopback_v6(std::string_view name) {
  if (!name.starts_with('[')) return false;
  in6_addr address{};
  const std::string number(name.substr(1, name.size() - 2));
  return inet_pton(AF_INET6, number.c_str(), &address) == 1 && IN6_IS_ADDR_LOOPBACK(&address);
}

// Takes the same time wherever the two differ, so that a token cannot be guessed character by character.
bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

// The scheme is not compared, since a proxy in front of the server may add TLS.
bool is_same_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) return equal_ignoring_case(origin.substr(scheme.size()), host);
  return false;
}

// Browsers say of every request which page wants it, and whether it opens a page itself.
bool is_part_of_another_page(const Asked& asked) {
  const bool is_another = asked.fetch_site == "cross-site" || asked.fetch_site == "same-site";
  return is_another && asked.fetch_mode != "navigate";
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (getentropy(bytes.data(), bytes.size()) != 0)
    throw Error("the system has no random numbers for the token of the server; listen at 127.0.0.1",
                {"address"});
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

bool is_loopback_host(std::string_view host) {
  const std::string_view name = name_of(host);
  return equal_ignoring_case(name, "localhost") || is_loopback_v4(std::string(name)) || is_loopback_v6(name);
}

std::string_view why_refused(const Asked& asked, std::string_view token) {
  // A page of another site can have a name of its own resolve to this machine (DNS rebinding). Its requests
  // then come from here and have its own origin, and only the name gives them away.
  if (token.empty() && !is_loopback_host(asked.host))
    return "This server answers to localhost and 127.0.0.1 only; use one of them in the address.";
  if (!token.empty() && !is_same_secret(asked.token, token))
    return "This address needs a token; open the whole address that stipple printed, which ends in ?token= "
           "and the token.";
  // Browsers send the origin with every WebSocket and POST, and with requests of scripts to other origins. A
  // request without it opens a page, is for a part of one, such as an image, or comes from a program that is
  // not a browser; such a program could send any origin, so that nothing is gained by asking for one.
  const bool is_foreign = asked.origin && !is_same_origin(*asked.origin, asked.host);
  if (is_foreign || is_part_of_another_page(asked))
    return "Pages of other sites may not use this server; open its own page.";
  return {};
}

}  // namespace stipple::http
