// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/json_file.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json_list_parser.h"

namespace stipple {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;

// Length of a value such as "NaN", "-Infinity" or "-nan(ind)" at the start of `text`; 0 if there is none.
std::size_t length_of_nan(std::string_view text) {
  constexpr std::size_t kLongest = 9;
  std::size_t length = text.starts_with('-') ? 1 : 0;
  std::string word;
  while (length < text.size() && word.size() < kLongest &&
         std::isalpha(static_cast<unsigned char>(text[length])))
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(text[length++])));
  if (word != "nan" && word != "inf" && word != "infinity") return 0;
  const std::string_view suffix = "(ind)";
  return text.substr(length).starts_with(suffix) ? length + suffix.size() : length;
}

// JSON has neither NaN and Infinity, which Python writes, nor nan and inf from printf; null replaces them.
std::string with_null_for_nan(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t length = in_string ? 0 : length_of_nan(text.substr(i)); length > 0) {
      result += "null";
      i += length;
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    const std::size_t count = in_string && text[i] == '\\' ? 2 : 1;  // skips over an escaped quote
    result += text.substr(i, count);
    i += count;
  }
  return result;
}

// `parse` maps a text to a value, which is discarded if the text is not JSON.
template <class Parse>
json load(const std::filesystem::path& path, std::string_view what, const Parse& parse) {
  InputFile file(path);
  if (file.remaining_bytes() > kMaxFileBytes)
    throw Error(fmt::format("{}: the file is larger than 1 GiB; this is not {}", file.name(), what));
  const std::string_view text = as_text(file.take_rest());
  json parsed = parse(text, file.name());
  if (parsed.is_discarded()) parsed = parse(with_null_for_nan(text), file.name());
  if (parsed.is_discarded())
    throw Error(
        fmt::format("{}: the file is not valid JSON; it may be truncated, so export it again", file.name()));
  return parsed;
}

template <class Excess>
void refuse_excess(const Excess& excess, const std::string& name) {
  if (!excess.empty()) throw Error(fmt::format("{}: the file {}", name, excess));
}

}  // namespace

json load_json(const std::filesystem::path& path, std::string_view what) {
  return load(path, what, [](std::string_view text, const std::string& name) {
    refuse_excess(json_excess(text), name);
    return parse_json(text, JsonComments::kIgnored);
  });
}

json load_json(const std::filesystem::path& path, std::string_view what, const JsonList& list) {
  return load(path, what, [&](std::string_view text, const std::string& name) {
    list.restart();
    JsonListParser parser(list);
    json parsed = parser.parse(text);
    refuse_excess(parser.excess(), name);
    return parsed;
  });
}

std::optional<double> number_in(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number()) return {};
  return found->get<double>();
}

std::string text_in(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json* object_in(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_object() ? &*found : nullptr;
}

const json* array_in(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

}  // namespace stipple
