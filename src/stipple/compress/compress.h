// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes a model smaller: the best quality for a given number of bytes, or the fewest bytes for a given
// quality.
//
// A model has two handles for this besides its format: how many Gaussians it keeps and the degree of their
// spherical harmonics. The Gaussians that matter least to the pictures go first (compress/effect.h). What is
// left is tuned on the photos, if there are any, which makes up for much of what was removed.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "stipple/core/gaussians.h"

namespace stipple {

// What the search needs to know of the world outside.
struct CompressTools {
  struct Stored {
    std::uint64_t bytes = 0;  // size of the file
    Gaussians model;          // as the file gives it back, with its quantisation
  };
  std::function<Stored(const Gaussians&)> store;    // writes a model in the wanted format and reads it again
  std::function<double(const Gaussians&)> quality;  // PSNR in dB of pictures of a model
  // Trains the values of a model without changing the number of its Gaussians. Empty if there are no photos.
  std::function<Gaussians(const Gaussians&)> tune;
  std::function<void(const std::string&)> note = {};  // called with what is being done, as a line of text
};

struct CompressGoal {  // one of the two
  std::optional<std::uint64_t> max_bytes;
  std::optional<double> min_quality;
};

struct Compressed {
  Gaussians model;  // to be stored; as large as the goal allows
  std::uint64_t bytes = 0;
  double quality = 0;          // of the stored model
  double quality_untuned = 0;  // before it was tuned; equal to `quality` if it was not
};

// `by_effect` has the rows of all Gaussians, the most important first. Throws Error if the goal cannot be
// reached, with what can be.
Compressed compress(const Gaussians& gaussians, std::span<const std::uint32_t> by_effect,
                    const CompressGoal& goal, const CompressTools& tools);

}  // namespace stipple
