// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/backend.h"

namespace stipple {

// Replaces the array with the given rows of it, in that order. A row has row_elements elements; the row
// Backend::kNoRow gives zeros.
template <class T>
void gather_in_place(Backend& backend, DeviceArray<T>& array, const DeviceArray<std::uint32_t>& rows,
                     int row_elements) {
  const auto n = static_cast<std::size_t>(row_elements);
  DeviceArray<T> to;
  to.resize(backend, rows.size() * n);
  if (!to.empty()) backend.gather(*array.memory(), rows, n * sizeof(T), *to.memory());
  array = std::move(to);
}

}  // namespace stipple
