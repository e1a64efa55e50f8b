// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/nearest_row.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/model/sog/nearest_row.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace stipple {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::CappedTag<float, RowTable::kWide>;
using Vector = hn::Vec<Tag>;

constexpr std::size_t kLanes = hn::MaxLanes(Tag());
constexpr std::size_t kVectors = RowTable::kWide / kLanes;  // in a group
// So many rows are searched for at once that their scores fill the registers: a matrix product in blocks.
constexpr std::size_t kMostRows = kVectors > 2 ? 2 : 6;

template <std::size_t kRows>
HWY_INLINE void search(const RowTable& table, const float* const* rows, Nearest* nearest) {
  const Tag d;
  Vector least[kRows][kVectors], group_of[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kVectors; ++v) {
      least[r][v] = hn::Set(d, std::numeric_limits<float>::infinity());
      group_of[r][v] = hn::Zero(d);
    }
  for (std::size_t g = 0; g < table.groups; ++g) {
    Vector score[kRows][kVectors];
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t v = 0; v < kVectors; ++v)
        score[r][v] = hn::LoadU(d, &table.half_norms2[g * RowTable::kWide + v * kLanes]);
    const float* value = &table.values[g * table.dimensions * RowTable::kWide];
    for (std::size_t k = 0; k < table.dimensions; ++k, value += RowTable::kWide) {
      Vector column[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) column[v] = hn::LoadU(d, value + v * kLanes);
      for (std::size_t r = 0; r < kRows; ++r) {
        const Vector x = hn::Set(d, rows[r][k]);
        for (std::size_t v = 0; v < kVectors; ++v) score[r][v] = hn::NegMulAdd(x, column[v], score[r][v]);
      }
    }
    const Vector group = hn::Set(d, static_cast<float>(g));
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t v = 0; v < kVectors; ++v) {
        const auto less = hn::Lt(score[r][v], least[r][v]);
        least[r][v] = hn::IfThenElse(less, score[r][v], least[r][v]);
        group_of[r][v] = hn::IfThenElse(less, group, group_of[r][v]);
      }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    float scores[RowTable::kWide], groups[RowTable::kWide];
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(least[r][v], d, scores + v * kLanes);
      hn::StoreU(group_of[r][v], d, groups + v * kLanes);
    }
    Nearest best{std::numeric_limits<std::uint32_t>::max(), std::numeric_limits<float>::infinity()};
    for (std::size_t i = 0; i < RowTable::kWide; ++i) {
      const auto row = static_cast<std::uint32_t>(groups[i]) * static_cast<std::uint32_t>(RowTable::kWide) +
                       static_cast<std::uint32_t>(i);
      if (scores[i] < best.score || (scores[i] == best.score && row < best.row)) best = {row, scores[i]};
    }
    nearest[r] = best;
  }
}

void search_all(const RowTable& table, const float* const* rows, std::size_t count, Nearest* nearest) {
  std::size_t i = 0;
  for (; i + kMostRows <= count; i += kMostRows) search<kMostRows>(table, rows + i, nearest + i);
  for (; i < count; ++i) search<1>(table, rows + i, nearest + i);
}

void score_all(const RowTable& table, const float* row, float* scores) {
  const Tag d;
  for (std::size_t g = 0; g < table.groups; ++g) {
    Vector score[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v)
      score[v] = hn::LoadU(d, &table.half_norms2[g * RowTable::kWide + v * kLanes]);
    const float* value = &table.values[g * table.dimensions * RowTable::kWide];
    for (std::size_t k = 0; k < table.dimensions; ++k, value += RowTable::kWide)
      for (std::size_t v = 0; v < kVectors; ++v)
        score[v] = hn::NegMulAdd(hn::Set(d, row[k]), hn::LoadU(d, value + v * kLanes), score[v]);
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::StoreU(score[v], d, scores + g * RowTable::kWide + v * kLanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple {

HWY_EXPORT(search_all);
HWY_EXPORT(score_all);

RowTable::RowTable(const float* rows, std::size_t row_count, std::size_t dimension_count)
    : dimensions(dimension_count),
      groups((row_count + kWide - 1) / kWide),
      values(groups * dimensions * kWide),
      half_norms2(groups * kWide, std::numeric_limits<float>::infinity()) {
  for (std::size_t i = 0; i < row_count; ++i) {
    const float* row = rows + i * dimensions;
    float* to = &values[i / kWide * dimensions * kWide + i % kWide];
    double norm2 = 0;
    for (std::size_t k = 0; k < dimensions; ++k) {
      to[k * kWide] = row[k];
      norm2 += static_cast<double>(row[k]) * row[k];
    }
    half_norms2[i] = static_cast<float>(norm2 / 2);
  }
}

void find_nearest(const RowTable& table, std::span<const float* const> rows, Nearest* nearest) {
  HWY_DYNAMIC_DISPATCH(search_all)(table, rows.data(), rows.size(), nearest);
}

void find_scores(const RowTable& table, const float* row, float* scores) {
  HWY_DYNAMIC_DISPATCH(score_all)(table, row, scores);
}

}  // namespace stipple
#endif
