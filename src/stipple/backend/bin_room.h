// SPDX-License-Identifier: Apache-2.0
#pragma once
// The capacity that project and bin need on a GPU. Only the device knows how many Gaussians a view shows, and
// in how many tiles. For a view with an id, the capacity is predicted from the last time the view was drawn;
// if that was too small, the pass has changed nothing and must be run again. For any other view, the host
// waits for the counts and allocates exactly what is needed.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stipple {

struct BinRoom {
  std::size_t splats = 0;     // that the view shows
  std::size_t gaussians = 0;  // that touch a tile
  std::size_t pairs = 0;      // of Gaussian and tile
  bool is_known = false;      // measured or predicted
};

// The capacity that is predicted for a view that needed this.
BinRoom with_slack(const BinRoom& needed);

// What a view needs. Throws Error if there are more pairs than can be counted.
BinRoom room_needed(std::uint32_t splats, std::uint32_t gaussians, std::uint64_t pairs);

class RoomPredictor {
 public:
  std::optional<BinRoom> predict(int view_id) const;  // nothing for a view that must be measured
  void remember(int view_id, const BinRoom& needed);

  BinRoom first;                        // for tests: the prediction for views not seen before
  std::vector<BinRoom> needed_by_view;  // what each view needed last time, by id
  int overflow_count = 0;               // passes that had to be run again
};

}  // namespace stipple
