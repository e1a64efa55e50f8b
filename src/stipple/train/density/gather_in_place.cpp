// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/gather_in_place.h"

namespace stipple {

namespace {

constexpr std::size_t kSliceBytes = 32;  // of a row: what a GPU reads at once
constexpr std::size_t kWidenedRowsAtOnce = std::size_t{1} << 18;

}  // namespace

// What an array is resized with lies on the device; its copy lies where the array does.
PlacedBytes gathering_bytes(const Device& device, Place place, std::size_t before, std::size_t after,
                            std::size_t row_bytes) {
  if (device.resizes_in_place(before * row_bytes, place))
    return {after * std::min(row_bytes, kSliceBytes), 0};
  return bytes_in(place, after * row_bytes);
}

PlacedBytes widening_bytes(const Device& device, Place place, std::size_t count, std::size_t from_row_bytes,
                           std::size_t to_row_bytes) {
  if (device.resizes_in_place(count * from_row_bytes, place))
    return {std::min(count, kWidenedRowsAtOnce) * to_row_bytes, 0};
  return bytes_in(place, count * from_row_bytes);  // the last array that is still narrow
}

// The largest array decides: that of the coefficients, or, if they lie on the host, maybe the rotations.
PlacedBytes gathering_bytes(const Device& device, Place harmonics, std::size_t before, std::size_t after,
                            int sh_degree) {
  DeviceGaussians g;
  g.sh_degree = sh_degree;
  const PlacedBytes sh = gathering_bytes(device, harmonics, before, after,
                                         static_cast<std::size_t>(g.sh_count()) * g.sh.kElementBytes),
                    rotation =
                        gathering_bytes(device, Place::kDevice, before, after, g.rotation.kElementBytes);
  return {std::max(sh.device, rotation.device), sh.host};
}

void gather_by_slices(Backend& backend, Memory& memory, const DeviceArray<std::uint32_t>& rows,
                      std::size_t row_halves) {
  constexpr std::size_t kSliceHalves = kSliceBytes / sizeof(std::uint16_t);
  if (rows.empty()) return;
  DeviceArray<std::uint16_t> slice;
  for (std::size_t first = 0; first < row_halves; first += kSliceHalves) {
    const std::size_t halves = std::min(kSliceHalves, row_halves - first);
    const RowPart in_array{.row_halves = row_halves, .first_half = first}, in_slice{.row_halves = halves};
    slice.resize(backend, rows.size() * halves);
    backend.copy_rows(memory, in_array, &rows, *slice.memory(), in_slice, rows.size(), halves);
    backend.copy_rows(*slice.memory(), in_slice, nullptr, memory, in_array, rows.size(), halves);
  }
}

// From the last rows to the first, since a row only moves up, and never into those that are still to be
// moved.
void widen_by_chunks(Backend& backend, Memory& memory, std::size_t count, std::size_t from, std::size_t to) {
  if (count == 0) return;
  DeviceArray<std::uint16_t> chunk;
  chunk.resize_zero(backend,
                    std::min(count, kWidenedRowsAtOnce) * to);  // what follows in each row remains zero
  for (std::size_t end = count; end > 0;) {
    const std::size_t first = (end - 1) / kWidenedRowsAtOnce * kWidenedRowsAtOnce, n = end - first;
    backend.copy_rows(memory, {from, first}, nullptr, *chunk.memory(), {to}, n, from);
    backend.copy_rows(*chunk.memory(), {to}, nullptr, memory, {to, first}, n, to);
    end = first;
  }
}

}  // namespace stipple
