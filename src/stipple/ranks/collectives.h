// SPDX-License-Identifier: Apache-2.0
#pragma once
// What ranks tell one another, in terms of values. All ranks must call the same functions in the same order.
// Every rank gets the same results, and they do not depend on timing.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stipple/ranks/ranks.h"

namespace stipple {

template <class T>
void append_bytes(std::span<const T> values, Ranks::Bytes& to) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(values);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class T>
Ranks::Bytes bytes_of_values(std::span<const T> values) {
  Ranks::Bytes bytes;
  append_bytes(values, bytes);
  return bytes;
}

template <class T>
void append_values(std::span<const std::byte> from, std::vector<T>& to) {
  const std::size_t before = to.size(), count = from.size() / sizeof(T);
  to.resize(before + count);
  if (count > 0) std::memcpy(to.data() + before, from.data(), count * sizeof(T));
}

// The values of all ranks one after another, in order of rank.
template <class T>
std::vector<T> gather_values(Ranks& ranks, std::span<const T> own) {
  std::vector<T> all;
  for (const Ranks::Bytes& from : ranks.all_to_all(
           std::vector<Ranks::Bytes>(static_cast<std::size_t>(ranks.count()), bytes_of_values(own))))
    append_values(std::span<const std::byte>(from), all);
  return all;
}

// The text of every rank.
inline std::vector<std::string> gather_texts(Ranks& ranks, std::string_view own) {
  std::vector<std::string> all;
  for (const Ranks::Bytes& from : ranks.all_to_all(std::vector<Ranks::Bytes>(
           static_cast<std::size_t>(ranks.count()), bytes_of_values(std::span(own.data(), own.size())))))
    all.emplace_back(reinterpret_cast<const char*>(from.data()), from.size());
  return all;
}

// The values of all ranks one after another on rank 0, and none on the others. On rank 0, this takes little
// more memory than the result: that of a part is freed once it has been appended.
template <class T>
std::vector<T> gather_on_first(Ranks& ranks, std::vector<T> own) {
  std::vector<Ranks::Bytes> to(static_cast<std::size_t>(ranks.count()));
  to[0] = bytes_of_values(std::span<const T>(own));
  own = {};
  std::vector<Ranks::Bytes> parts = ranks.all_to_all(std::move(to));
  std::size_t bytes = 0;
  for (const Ranks::Bytes& from : parts) bytes += from.size();
  std::vector<T> all;
  all.reserve(bytes / sizeof(T));
  for (Ranks::Bytes& from : parts) {
    append_values(std::span<const std::byte>(from), all);
    from = {};
  }
  return all;
}

// The value of every rank.
template <class T>
std::vector<T> gather_value(Ranks& ranks, const T& own) {
  return gather_values(ranks, std::span<const T>(&own, 1));
}

// Element by element, the sum over the ranks. Each must have as many.
template <class T>
std::vector<T> sum_by_element(Ranks& ranks, const std::vector<T>& own) {
  const std::vector<T> all = gather_values(ranks, std::span<const T>(own));
  std::vector<T> sum(own.size(), T{});
  for (std::size_t i = 0; i < all.size(); ++i) sum[i % own.size()] += all[i];
  return sum;
}

// A rank's place in a sum over all ranks: the sum over the ranks before it, and the whole.
struct RankSum {
  std::uint64_t before = 0, total = 0;
};

inline RankSum sum_over_ranks(Ranks& ranks, std::uint64_t own) {
  RankSum sum;
  const std::vector<std::uint64_t> all = gather_value(ranks, own);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (static_cast<int>(r) < ranks.rank()) sum.before += all[r];
    sum.total += all[r];
  }
  return sum;
}

inline bool is_true_on_any(Ranks& ranks, bool own) {
  const std::vector<char> all = gather_value(ranks, static_cast<char>(own));
  return std::any_of(all.begin(), all.end(), [](char is_true) { return is_true != 0; });
}

}  // namespace stipple
