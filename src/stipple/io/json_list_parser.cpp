// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/json_list_parser.h"

#include <utility>

namespace stipple {

using nlohmann::json;

json JsonListParser::parse(std::string_view text) {
  const bool is_valid =
      json::sax_parse(text, this, json::input_format_t::json, true, /*ignore_comments=*/true);
  return is_valid ? std::move(root_) : json(json::value_t::discarded);
}

void JsonListParser::hand_over(json&& value) {
  list_.take(std::move(value), root_.is_array() ? root_.size() - 1 : 0);
}

bool JsonListParser::refuse(std::string_view excess) {
  excess_ = excess;
  return false;
}

bool JsonListParser::key(std::string& name) {
  if (ignored_depth_ > 0) return true;
  ignore_next_ = !list_.ignored.empty() && name == list_.ignored;
  key_ = std::move(name);
  return true;
}

// Places a value into the innermost container, or hands it over if that is the list.
bool JsonListParser::add(json value) {
  if (ignored_depth_ > 0) return true;
  if (std::exchange(ignore_next_, false)) return true;
  if (is_in_list()) {
    hand_over(std::move(value));
    return true;
  }
  if (++kept_count_ > kMaxJsonValues) return refuse(kTooManyJsonValues);
  if (containers_.empty())
    root_ = std::move(value);
  else if (containers_.back()->is_object())
    (*containers_.back())[key_] = std::move(value);
  else
    containers_.back()->push_back(std::move(value));
  return true;
}

bool JsonListParser::start(json container) {
  if (ignored_depth_ > 0 || std::exchange(ignore_next_, false)) {
    ++ignored_depth_;
    return true;
  }
  if (containers_.size() >= kMaxJsonDepth) return refuse(kTooDeepJson);
  if (is_in_list()) {  // a value of the list, which is handed over when it ends
    kept_before_part_ = kept_count_;
    part_ = std::move(container);
    containers_.push_back(&part_);
    return true;
  }
  const bool starts_list = list_depth_ == 0 && containers_.size() == list_.depth && !containers_.empty() &&
                           containers_.back()->is_object() && key_ == list_.name;
  json* parent = containers_.empty() ? nullptr : containers_.back();
  if (!add(std::move(container))) return false;
  containers_.push_back(!parent ? &root_ : parent->is_object() ? &(*parent)[key_] : &parent->back());
  if (starts_list) list_depth_ = containers_.size();
  return true;
}

bool JsonListParser::end() {
  if (ignored_depth_ > 0) {
    --ignored_depth_;
    return true;
  }
  if (is_in_list()) list_depth_ = 0;
  containers_.pop_back();
  if (is_in_list()) {
    kept_count_ = kept_before_part_;
    hand_over(std::exchange(part_, nullptr));
  }
  return true;
}

}  // namespace stipple
