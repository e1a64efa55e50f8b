// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// The processes that train one model together. Each is a rank, has a part of the Gaussians, and runs the same
// program: wherever one rank talks to the others, all do (docs/scaling.md).
#include <cstddef>
#include <vector>

namespace stipple {

class Ranks {
 public:
  using Bytes = std::vector<std::byte>;

  virtual ~Ranks() = default;
  virtual int rank() const = 0;  // of this process: 0 .. count() - 1
  virtual int count() const = 0;

  // Sends to[r] to rank r, and returns what each rank has sent to this one, in order of rank. Waits for all
  // of it. Everything else that ranks tell one another is made of this (ranks/collectives.h). Throws Error if
  // another rank has ended.
  virtual std::vector<Bytes> all_to_all(std::vector<Bytes> to) = 0;

  // For a rank that waits for something else that others do. Throws Error if one has ended.
  virtual void check() {}
};

// The ranks of a run in one process, which is alone.
Ranks& one_rank();

}  // namespace stipple
