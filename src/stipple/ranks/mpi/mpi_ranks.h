// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks that are processes, and talk through MPI. All calls of MPI are made by the thread that made this.
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stipple/ranks/launched_ranks.h"
#include "stipple/ranks/mpi/stop_clock.h"

namespace stipple {

class MpiRanks : public LaunchedRanks {
 public:
  explicit MpiRanks(std::function<bool()> is_interrupted);
  ~MpiRanks() override;
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int local_rank() const override { return local_rank_; }
  int local_count() const override { return local_count_; }
  std::vector<Bytes> all_to_all(std::vector<Bytes> to) override;
  void check() override;
  void end_in_failure(const std::string& reason) noexcept override;
  std::optional<std::string> failure_of(int rank) const override {
    return failures_.at(static_cast<std::size_t>(rank));
  }

 private:
  using Clock = std::chrono::steady_clock;

  // What every rank sends to every other first. Most messages fit into it, and need no other.
  struct Envelope {
    std::uint64_t bytes = 0;  // of the message
    std::array<std::byte, 248> start{};
  };

  // All memory that MPI reads or writes during one.
  struct Exchange {
    std::vector<Bytes> to, from;
    std::vector<Envelope> envelopes_to, envelopes_from;
    std::vector<MPI_Request> requests;
  };

  void exchange_envelopes(Exchange& exchange);
  void exchange_rest(Exchange& exchange);
  void wait_for(std::span<MPI_Request> requests);
  void receive_notices();

  std::function<bool()> is_interrupted_;
  MPI_Comm data_ = MPI_COMM_NULL;     // for all_to_all()
  MPI_Comm notices_ = MPI_COMM_NULL;  // of ranks that end in failure
  int rank_ = 0, count_ = 1, local_rank_ = 0, local_count_ = 1;
  StopClock stop_clock_;
  std::unique_ptr<Exchange> exchange_;                // under way; stays if it has failed
  std::vector<std::optional<std::string>> failures_;  // the notices, by rank
  bool has_lost_a_rank_ = false, has_failed_ = false;
};

}  // namespace stipple
