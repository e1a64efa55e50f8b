// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/convert/matrix.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "apps/stipple/options/number_list.h"
#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json.h"

namespace stipple {

namespace {

// Errors of the numbers start with the name of where they are.
SimilarityTransform from_numbers(const std::string& text, const std::string& name) {
  std::vector<double> numbers;
  try {
    numbers = parse_numbers(text);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", name, error.what()));
  }
  return similarity_from_rows(numbers, name);
}

SimilarityTransform from_object(const nlohmann::json& object, const std::string& name) {
  if (!object.contains("transform"))
    throw Error(fmt::format("{}: the object has no \"transform\", a list of 3 or 4 rows of 4 numbers", name));
  SimilarityTransform result = from_numbers(object["transform"].dump(), name);
  if (!object.contains("scale")) return result;
  SimilarityTransform scaled;
  scaled.scale = object["scale"].is_number() ? object["scale"].get<double>() : 0;
  if (!(scaled.scale > 0) || !std::isfinite(scaled.scale))
    throw Error(fmt::format("{}: \"scale\" must be a number greater than 0", name));
  return scaled * result;
}

}  // namespace

SimilarityTransform read_matrix(const std::string& text_or_file) {
  std::error_code error;  // a matrix may be too long for a name
  if (!std::filesystem::exists(text_or_file, error)) {
    const bool is_matrix = text_or_file.find_first_not_of("0123456789+-.eE,;[]() \t\n") == std::string::npos;
    if (!is_matrix)
      throw Error(fmt::format("{}: there is no such file, and it is not a matrix", text_or_file));
    return from_numbers(text_or_file, "--transform");
  }
  const std::string text = read_text(text_or_file);
  const nlohmann::json parsed = parse_json(text);
  return parsed.is_object() ? from_object(parsed, text_or_file) : from_numbers(text, text_or_file);
}

}  // namespace stipple
