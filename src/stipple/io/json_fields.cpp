// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/json_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"

namespace stipple {

using nlohmann::json;

NamedJson load_own_json(const std::filesystem::path& path, std::uint64_t max_bytes, std::string_view what) {
  InputFile file(path);
  if (file.remaining_bytes() > max_bytes)
    throw Error(fmt::format("{}: {} must not be larger than {} MiB", file.name(), what, max_bytes >> 20));
  const std::string_view text = as_text(file.take_rest());
  if (const std::string_view excess = json_excess(text); !excess.empty())
    throw Error(fmt::format("{}: the file {}", file.name(), excess));
  try {
    return {json::parse(text), file.name()};  // not parse_json(), for the message
  } catch (const json::exception& error) {
    // The message reads "[json.exception.parse_error.101] parse error at line 1, column 2: ..."; users do not
    // need the part in brackets.
    const std::string_view message = error.what();
    const std::size_t begin = message.find("] ");
    throw Error(
        fmt::format("{}: {}", file.name(), begin == message.npos ? message : message.substr(begin + 2)));
  }
}

JsonFields::JsonFields(const json& object, std::string file_name, std::string place)
    : object_(object), file_name_(std::move(file_name)), place_(std::move(place)) {
  if (object.is_object()) return;
  if (place_.empty()) throw Error(fmt::format("{}: a JSON object is expected", file_name_));
  throw Error(fmt::format("{}: \"{}\" must be an object", file_name_, place_.substr(0, place_.size() - 1)));
}

const json& JsonFields::value(const char* field) const {
  const auto found = object_.find(field);
  if (found == object_.end()) fail(field, "is missing");
  return *found;
}

float JsonFields::number(const char* field) const {
  const float number = to_float(value(field));
  if (!std::isfinite(number)) fail(field, "must be a finite number");
  return number;
}

float JsonFields::positive_number(const char* field) const {
  const float number = to_float(value(field));
  if (!(number > 0) || !std::isfinite(number)) fail(field, "must be a positive number");
  return number;
}

double JsonFields::number(const char* field, double low, double high) const {
  const json& found = value(field);
  const double number = found.is_number() ? found.get<double>() : NAN;
  if (!(low <= number && number <= high))
    fail(field, fmt::format("must be a number from {} to {}", low, high));
  return number;
}

int JsonFields::whole_number(const char* field, int low, int high) const {
  const json& found = value(field);
  const double number = found.is_number() ? found.get<double>() : NAN;
  if (!(low <= number && number <= high) || number != std::floor(number))
    fail(field, fmt::format("must be a whole number from {} to {}", low, high));
  return static_cast<int>(number);
}

bool JsonFields::flag(const char* field) const {
  if (!value(field).is_boolean()) fail(field, "must be true or false");
  return value(field).get<bool>();
}

const json& JsonFields::list(const char* field) const {
  const json& found = value(field);
  if (!found.is_array() || found.empty()) fail(field, "must be a list that is not empty");
  return found;
}

JsonFields JsonFields::object(const char* field) const {
  return JsonFields(value(field), file_name_, fmt::format("{}{}.", place_, field));
}

JsonFields JsonFields::object(const char* list, std::size_t i) const {
  return JsonFields(value(list)[i], file_name_, fmt::format("{}{}[{}].", place_, list, i));
}

void JsonFields::fail(const char* field, std::string_view reason) const {
  throw Error(fmt::format("{}: \"{}{}\" {}", file_name_, place_, field, reason));
}

float to_float(const json& value) {
  return value.is_number() ? static_cast<float>(value.get<double>()) : NAN;
}

}  // namespace stipple
