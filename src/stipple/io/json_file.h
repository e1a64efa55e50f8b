// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON files of other programs. Include this in .cpp files only, as io/json.h.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "stipple/io/json.h"

namespace stipple {

// Reads a file of up to 1 GiB. Comments are ignored; NaN and Infinity, which Python writes, and nan, inf and
// -nan(ind) from printf become null. Throws Error if the file is not JSON, or too costly to parse; `what`
// says what it should be: "a transforms.json".
nlohmann::json load_json(const std::filesystem::path& path, std::string_view what);

// A part of a file that may be too large to be kept as a whole, such as the points of a reconstruction: what
// lies in the object or array of this name is handed over one by one, and not kept.
struct JsonList {
  std::string_view name;
  std::size_t depth;         // the number of objects and arrays around the list
  std::string_view ignored;  // a key whose values are left out, wherever they are; empty means none
  // If the file is an array, the second argument says in which of its values the list is.
  std::function<void(nlohmann::json&&, std::size_t)> take;
  std::function<void()> restart;  // called whenever the file is read from its start
};

// The same for a file with such a list. The result holds the list empty.
nlohmann::json load_json(const std::filesystem::path& path, std::string_view what, const JsonList& list);

// A field of an object: none or empty if it is missing or of another type.
std::optional<double> number_in(const nlohmann::json& object, const char* field);
std::string text_in(const nlohmann::json& object, const char* field);
const nlohmann::json* object_in(const nlohmann::json& object, const char* field);
const nlohmann::json* array_in(const nlohmann::json& object, const char* field);

}  // namespace stipple
