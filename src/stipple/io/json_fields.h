// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON files of Stipple's own, which people also write by hand: errors name the field. Files of other
// programs are read by io/json_file.h. Include this in .cpp files only, as io/json.h.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "stipple/io/json.h"

namespace stipple {

struct NamedJson {
  nlohmann::json value;
  std::string file_name;
};

// Reads a file of up to `max_bytes`; `what` says what it should be: "a camera file". An error in the JSON
// says where it is.
NamedJson load_own_json(const std::filesystem::path& path, std::uint64_t max_bytes, std::string_view what);

// Reads and checks the fields of an object. Errors read: camera.json: "fx" must be a positive number
class JsonFields {
 public:
  // `place` is put before the names of fields in messages: "keyframes[2].camera.". The object must outlive
  // this. Throws Error if it is not an object.
  JsonFields(const nlohmann::json& object, std::string file_name, std::string place = "");

  bool has(const char* field) const { return object_.contains(field); }
  const nlohmann::json& value(const char* field) const;  // throws Error if it is missing
  float number(const char* field) const;                 // finite
  float positive_number(const char* field) const;
  double number(const char* field, double low, double high) const;  // both included
  int whole_number(const char* field, int low, int high) const;     // both included
  bool flag(const char* field) const;
  const nlohmann::json& list(const char* field) const;       // an array that is not empty
  JsonFields object(const char* field) const;                // the fields of an object in this one
  JsonFields object(const char* list, std::size_t i) const;  // of an object in a list in this one

  [[noreturn]] void fail(const char* field, std::string_view reason) const;

 private:
  const nlohmann::json& object_;
  std::string file_name_, place_;
};

// The number as a float; NaN if the value is no number.
float to_float(const nlohmann::json& value);

}  // namespace stipple
