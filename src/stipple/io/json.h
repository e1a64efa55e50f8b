// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON from files, which anyone may have written. The parser takes some fifty times the memory of a text of
// brackets, and copying or printing a deeply nested value overflows the stack; the limits here are far beyond
// what Stipple and the programs whose files it reads write. Include this in .cpp files only: the header of
// the parser compiles slowly.
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "stipple/core/byte_text.h"

namespace stipple {

constexpr std::size_t kMaxJsonDepth = 64;          // a matrix in a frame of a transforms.json is at depth 4
constexpr std::size_t kMaxJsonValues = 5'000'000;  // of up to 100 bytes each; a frame has about 40
constexpr std::string_view kTooDeepJson = "is nested more than 64 levels deep; export it again";
constexpr std::string_view kTooManyJsonValues = "has more than 5 million values; export fewer photos";

// Returns what makes the text too costly to parse, as the end of a sentence that starts with the name of the
// file; empty if nothing does.
std::string_view json_excess(std::string_view text);

// The value with all its strings as UTF-8 (core/byte_text.h): they may be names of files.
template <class Json>
Json with_utf8(const Json& value) {
  if (value.is_string()) return utf8_from_bytes(value.template get_ref<const std::string&>());
  Json result = value;
  if (value.is_structured())
    for (auto& part : result) part = with_utf8(part);
  return result;
}

enum class JsonComments { kRefused, kIgnored };

// Returns a discarded value (nlohmann's is_discarded()) if the text is not valid JSON, or too costly to
// parse.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, JsonComments comments = JsonComments::kRefused) {
  if (!json_excess(text).empty()) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false, comments == JsonComments::kIgnored);
}

}  // namespace stipple
