// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses JSON event by event, so that a long list need not be kept (JsonList in io/json_file.h).
#include <string>
#include <string_view>
#include <vector>

#include "stipple/io/json_file.h"

namespace stipple {

class JsonListParser {
 public:
  explicit JsonListParser(const JsonList& list) : list_(list) {}

  // Returns a discarded value if the text is not valid JSON or too costly.
  nlohmann::json parse(std::string_view text);

  // What makes the text too costly, as in json_excess().
  std::string_view excess() const { return excess_; }

  // The interface of nlohmann::json::sax_parse(): each returns whether to go on.
  using json = nlohmann::json;
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }
  bool start_object(std::size_t) { return start(json::object()); }
  bool start_array(std::size_t) { return start(json::array()); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string& name);
  bool parse_error(std::size_t, const std::string&, const json::exception&) { return false; }

 private:
  bool add(json value);
  bool start(json container);
  bool end();
  void hand_over(json&& value);
  bool refuse(std::string_view excess);
  bool is_in_list() const { return list_depth_ > 0 && containers_.size() == list_depth_; }

  const JsonList& list_;
  json root_ = json::value_t::discarded;
  json part_;  // a value of the list
  std::vector<json*>
      containers_;              // that are open; the pointers are valid, since only the innermost one grows
  std::string key_;             // of the next value, if the innermost container is an object
  std::size_t list_depth_ = 0;  // the number of open containers, the list included; 0 means outside of it
  std::size_t ignored_depth_ = 0;  // the number of open containers of a value that is left out
  bool ignore_next_ = false;
  std::size_t kept_count_ = 0, kept_before_part_ = 0;  // values
  std::string_view excess_;
};

}  // namespace stipple
