// SPDX-License-Identifier: Apache-2.0
#pragma once
// Changes of an array that need little memory besides it, if its memory can be resized where it is. Any other
// array is replaced by a new one, so that both exist for a moment.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple {

// The memory that the functions below need besides an array that lies there.
PlacedBytes gathering_bytes(const Device& device, Place place, std::size_t before, std::size_t after,
                            std::size_t row_bytes);
PlacedBytes widening_bytes(const Device& device, Place place, std::size_t count, std::size_t from_row_bytes,
                           std::size_t to_row_bytes);

// The same for all arrays of a model with harmonics of this degree that lie there, gathered one after
// another.
PlacedBytes gathering_bytes(const Device& device, Place harmonics, std::size_t before, std::size_t after,
                            int sh_degree);

// Replaces rows of so many halves by the given ones, a slice of every row at a time. There must be memory for
// both.
void gather_by_slices(Backend& backend, Memory& memory, const DeviceArray<std::uint32_t>& rows,
                      std::size_t row_halves);

// Moves rows so that each has `to` halves instead of `from`, of which the further ones are zero. There must
// be memory for the result.
void widen_by_chunks(Backend& backend, Memory& memory, std::size_t count, std::size_t from, std::size_t to);

// Replaces the array with the given rows of it, in that order. A row has row_elements elements; the row
// Backend::kNoRow gives zeros.
template <class T>
void gather_in_place(Backend& backend, DeviceArray<T>& array, const DeviceArray<std::uint32_t>& rows,
                     int row_elements) {
  const auto n = static_cast<std::size_t>(row_elements);
  const std::size_t size = rows.size() * n;
  if (array.resize_in_place(backend, std::max(array.size(), size))) {
    gather_by_slices(backend, *array.memory(), rows, n * sizeof(T) / sizeof(std::uint16_t));
    array.resize_in_place(backend, size);
    return;
  }
  DeviceArray<T> to;
  to.set_place(array.place());
  to.resize(backend, size);
  if (!to.empty()) backend.gather(*array.memory(), rows, n * sizeof(T), *to.memory());
  array = std::move(to);
}

// Gives every row `to` elements instead of `from`; the further ones are zero.
template <class T>
void widen_in_place(Backend& backend, DeviceArray<T>& array, std::size_t from, std::size_t to) {
  constexpr std::size_t kHalves = sizeof(T) / sizeof(std::uint16_t);
  const std::size_t count = array.size() / from;
  if (array.resize_in_place(backend, count * to)) {
    widen_by_chunks(backend, *array.memory(), count, from * kHalves, to * kHalves);
    return;
  }
  DeviceArray<T> wide;
  wide.set_place(array.place());
  wide.resize_zero(backend, count * to);
  if (count > 0)
    backend.copy_rows(*array.memory(), {from * kHalves}, nullptr, *wide.memory(), {to * kHalves}, count,
                      from * kHalves);
  array = std::move(wide);
}

// An array that becomes much smaller gives memory back.
template <class T>
void replace(Backend& backend, const std::vector<T>& values, DeviceArray<T>& array) {
  if (!array.resize_in_place(backend, values.size()) && values.size() < array.size()) array.release();
  array.upload(backend, values);
}

}  // namespace stipple
