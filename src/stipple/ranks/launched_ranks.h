// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// The ranks of a program that a launcher of MPI has started: mpirun, or srun under Slurm (docs/scaling.md).
//
// All use of MPI is in a module, stipple_mpi.so, which is loaded only by a program that was launched so: all
// others start as fast, and run as well, where there is no MPI. It is looked for in the program's folder, in
// ../lib/stipple from there, and where the system's loader looks for libraries (its RPATH, LD_LIBRARY_PATH).
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "stipple/core/error.h"
#include "stipple/ranks/ranks.h"

namespace stipple {

// Thrown by Ranks::all_to_all() when another rank has ended, or the whole run is being ended.
class RankLost : public Error {
 public:
  RankLost(const std::string& message, bool is_explained) : Error(message), is_explained_(is_explained) {}
  // Whether the message has the other rank's own words.
  bool is_explained() const { return is_explained_; }

 private:
  bool is_explained_;
};

class LaunchedRanks : public Ranks {
 public:
  virtual int local_rank() const = 0;   // among the ranks on this machine
  virtual int local_count() const = 0;  // of ranks on this machine

  // For a rank that has reported an error, and is about to end. Tells the other ranks, for which it ends
  // whatever they wait for with RankLost, and waits until they have reported that and called this, too: the
  // launcher kills those that are left as soon as the first has ended. It waits for five minutes at most, and
  // only briefly once a signal tells that a rank may have been killed. MPI must not be used afterwards.
  virtual void end_in_failure(const std::string& reason) noexcept = 0;
  // What a rank, as far as this one knows, has given as the reason of its end.
  virtual std::optional<std::string> failure_of(int rank) const = 0;
};

struct LaunchedProcess {
  int rank, count;
};

// Whether a launcher has started this process together with others. Never if STIPPLE_MPI=off is in the
// environment: for processes that a launcher has started, but that work independently.
std::optional<LaunchedProcess> launched_process();

// Joins the other processes that the launcher has started. All must call it, once, from the thread that will
// talk to them. `is_interrupted` tells whether a signal has asked this process to end: a launcher sends one
// to all processes when one has died. After that, a rank waits for any one answer of the others for half of
// the time that the launcher grants, and then throws RankLost. Throws Error if there is no module, or if it
// finds other processes than the launcher has started.
std::unique_ptr<LaunchedRanks> join_launched_ranks(std::function<bool()> is_interrupted);

}  // namespace stipple
