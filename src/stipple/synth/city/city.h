// SPDX-License-Identifier: Apache-2.0
#pragma once
// A synthetic scene of any size: a city of blocks between streets, photographed from the air and from the
// streets by a ray tracer. Its blocks are made when they are seen, so that memory does not depend on their
// number.
#include <memory>

#include "stipple/synth/synth.h"

namespace stipple {

struct CityOptions {
  SynthOptions photos;  // without transparent, pose_noise_degrees and passer_by_count, which are ignored
  int block_count = 0;  // along each side; 0 means one block for about 4 photos
};

class City {
 public:
  // Throws OptionError for an option that is out of range. Holds this many blocks at most, besides those that
  // are in use.
  explicit City(const CityOptions& options, std::size_t cached_blocks = 1024);
  ~City();

  int block_count() const;

  // First those in the air, in rows over the whole city, looking down or at a slant to one of four sides;
  // then those in the streets, one street after the other. Names are "0001.png" and so on.
  std::vector<SynthView> cameras() const;

  // As synth_render(). For one thread at a time, which uses all cores.
  SynthPicture render(const SynthView& view) const;

  // Points as structure from motion would find them, as many for each block; those of a range are the same
  // however the ranges are chosen. None if the options say so.
  std::size_t point_count() const;
  Points points(std::size_t begin, std::size_t end) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stipple
