// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/xml_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/text.h"

namespace stipple {

namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;
constexpr std::ptrdiff_t kMaxNodes = 5'000'000;  // of up to 64 bytes each; a camera has about 30

}  // namespace

// The parser is not recursive, and the document is freed as a whole, so that nesting needs no limit.
void load_xml(const std::filesystem::path& path, pugi::xml_document& to) {
  InputFile file(path);
  if (file.remaining_bytes() > kMaxFileBytes)
    throw Error(fmt::format("{}: the file is larger than 1 GiB; this is not a list of cameras", file.name()));
  const std::string_view text = as_text(file.take_rest());
  if (std::ranges::count_if(text, [](char c) { return c == '<' || c == '='; }) > kMaxNodes)
    throw Error(
        fmt::format("{}: the file has more than 5 million elements; export the cameras alone", file.name()));
  const pugi::xml_parse_result result = to.load_buffer(text.data(), text.size());
  if (!result)
    throw Error(
        fmt::format("{}: the file is not valid XML (byte {}); it may be truncated, so export it again",
                    file.name(), result.offset));
}

std::vector<double> numbers_of(pugi::xml_node node) {
  std::vector<double> numbers;
  std::string_view text = node.text().get();
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    double value = 0;
    if (!parse_number(word, value) || !std::isfinite(value)) return {};
    numbers.push_back(value);
  }
  return numbers;
}

std::optional<double> number_of(pugi::xml_node node) {
  const std::vector<double> numbers = numbers_of(node);
  if (numbers.size() != 1) return {};
  return numbers[0];
}

}  // namespace stipple
