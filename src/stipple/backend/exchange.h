// SPDX-License-Identifier: Apache-2.0
#pragma once
// exchange: the stage between project and bin of a model of which every rank has a part.
//
// Every rank projects its Gaussians for every view, and one rank draws the view. The splats go to that rank,
// which has them in the order of the whole model, as if it had projected them all. On the way back, between
// blend_backward and project_backward, their gradients return to the ranks that they came from.
//
// The views of a batch are exchanged in rounds of one view per rank, so that a rank never holds the splats of
// more than one view that it draws.
#include <cstdint>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/backend/rank_link.h"

namespace stipple {

class Exchange {
 public:
  Exchange(Backend& backend, RankLink& link)
      : backend_(backend), link_(link), sent_before_(link.sent_bytes()) {}

  // A round begins. Takes the projections of its views, one after another, and then sends them. The views
  // must be projected without an id, so that project makes room for exactly the splats that there are.
  void begin_round();
  void take(const Pass& projected);
  void send();
  // Starts the drawing of this rank's view with the splats that it was sent; can be repeated.
  void receive(const View& view, Pass& drawn);

  // Sends the gradients of the splats that were received, if this rank has drawn a view, and takes those of
  // its own splats.
  void send_back(const Pass* drawn, const WantedGradients& wanted);
  // Writes Pass::dL_dsplat of the round's view number `at`, which has just been projected again.
  void place(std::size_t at, Pass& projected);

  std::uint64_t sent_bytes() const { return link_.sent_bytes() - sent_before_; }  // to other ranks
  double ms() const { return ms_; }                                               // spent on this

 private:
  template <class T>
  void split(const DeviceArray<T>* gradients, std::vector<DeviceArray<T>>& to);

  Backend& backend_;
  RankLink& link_;
  std::uint64_t sent_before_;
  std::vector<std::size_t> own_counts_;                // of this rank's splats, by view of the round
  std::vector<DeviceArray<ProjectedSplat>> outgoing_;  // by rank, which is the view of the round
  std::vector<std::size_t> counts_;                    // of the received splats, by rank
  DeviceArray<ProjectedSplat> received_;
  // Of this rank's splats, by view of the round.
  std::vector<DeviceArray<Splat>> dL_dsplat_;
  std::vector<DeviceArray<Vec2f>> absolute_mean_px_;
  double ms_ = 0;
};

}  // namespace stipple
