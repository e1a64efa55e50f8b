// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/backend.h"

namespace stipple {

// array = its rows in this order. A row is so many elements.
template <class T>
void gather_in_place(Backend& backend, DeviceArray<T>& array, const DeviceArray<std::uint32_t>& rows,
                     int row_elements) {
  const auto n = static_cast<std::size_t>(row_elements);
  DeviceArray<T> to;
  to.resize(backend, rows.size() * n);
  if (!to.empty()) backend.gather(*array.memory(), rows, n * sizeof(T), *to.memory());
  array = std::move(to);
}

// Throws OutOfMemory unless so many bytes can be taken now. Asked before a change that takes several steps,
// so that it is made as a whole or not at all.
inline void require_room(Backend& backend, std::size_t bytes) {
  if (backend.own_memory_bytes() > 0) backend.allocate(bytes);
}

}  // namespace stipple
