// SPDX-License-Identifier: Apache-2.0
#include "stipple/ranks/require_same.h"

#include <fmt/format.h>

#include "stipple/core/error.h"
#include "stipple/ranks/collectives.h"

namespace stipple {

namespace {

// No value contains a zero byte: they are paths, and numbers.
std::string joined(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) text += fact.name + '\0' + fact.value + '\0';
  return text;
}

std::vector<Fact> separated(const std::string& text) {
  std::vector<Fact> facts;
  for (std::size_t at = 0; at < text.size();) {
    Fact& fact = facts.emplace_back();
    for (std::string* field : {&fact.name, &fact.value}) {
      *field = text.c_str() + at;  // ends at the zero byte
      at += field->size() + 1;
    }
  }
  return facts;
}

}  // namespace

void require_same(Ranks& ranks, const std::vector<Fact>& facts, const std::string& advice) {
  std::vector<std::vector<Fact>> all;
  for (const std::string& text : gather_texts(ranks, joined(facts))) all.push_back(separated(text));
  for (std::size_t i = 0; i < all[0].size(); ++i)
    for (std::size_t r = 1; r < all.size(); ++r) {
      const Fact& first = all[0][i];
      const Fact other = i < all[r].size() ? all[r][i] : Fact{first.name, "missing"};
      if (first.name != other.name || first.value != other.value)
        throw Error(fmt::format(
            "all processes must do the same, but {} is {} for rank 0, and {} is {} for rank {}; {}",
            first.name, first.value, other.name, other.value, r, advice));
    }
}

}  // namespace stipple
