// SPDX-License-Identifier: Apache-2.0
#pragma once
// The address in the first line of a request: "/photo/3?size=640".
#include <optional>
#include <string>
#include <string_view>

namespace stipple::http {

struct HttpTarget {
  std::string path;   // decoded
  std::string query;  // as it was sent
};

// Nothing if it is not a path with a query, is not UTF-8, or has in it what no address of a site has: control
// characters, an encoded slash, a backslash, "." or ".." as a part.
std::optional<HttpTarget> parse_target(std::string_view target);

// The value of a parameter of a query, decoded; empty if there is none.
std::string query_parameter(std::string_view query, std::string_view name);

}  // namespace stipple::http
