// SPDX-License-Identifier: Apache-2.0
#include "stipple/ranks/mpi/mpi_ranks.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace stipple {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostBytes = std::size_t{1} << 28;  // of one message of MPI, which counts with an int
constexpr std::size_t kMostNotice = 4096;
// For the other ranks to notice that this one has ended. They do at their next exchange, until when a long
// step or a write to a slow disk may pass.
constexpr auto kLongestLinger = 300s;

void check_call(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw Error(std::string("MPI cannot ") + what + ": " + text.data());
}

// Calls f(byte offset, byte count) for every message of MPI that so many bytes take.
template <class F>
void for_each_piece(std::size_t bytes, F f) {
  for (std::size_t at = 0; at < bytes; at += kMostBytes)
    f(at, static_cast<int>(std::min(kMostBytes, bytes - at)));
}

// How long a rank that has been asked to end may wait for one answer of the others: half of the time after
// which the launcher kills it, since until then, it has to say why it ends. Slurm grants 30 s unless it is
// configured otherwise. To be called before MPI is started, which may change the environment.
StopClock::Duration time_of_grace() {
  const bool is_from_mpirun = std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr;  // that of Open MPI
  if (!is_from_mpirun) return 15s;
  double granted_s = 1;  // mpirun's default
  for (const char* name : {"OMPI_MCA_odls_base_sigkill_timeout", "PRTE_MCA_odls_base_sigkill_timeout"})
    if (const char* seconds = std::getenv(name)) granted_s = std::max(1.0, std::atof(seconds));
  return StopClock::Duration(0.5 * granted_s);
}

// Waits at first with little delay, and then without taking a core from the other ranks on this machine.
class Patience {
 public:
  void pause() {
    if (++count_ < 200)
      sched_yield();
    else
      std::this_thread::sleep_for(30us);
  }

 private:
  int count_ = 0;
};

}  // namespace

MpiRanks::MpiRanks(std::function<bool()> is_interrupted)
    : is_interrupted_(std::move(is_interrupted)), stop_clock_(time_of_grace()) {
  int provided = 0;
  check_call(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "start");
  for (MPI_Comm* comm : {&data_, &notices_}) {
    check_call(MPI_Comm_dup(MPI_COMM_WORLD, comm), "start");
    check_call(MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN), "start");
  }
  MPI_Comm_rank(data_, &rank_);
  MPI_Comm_size(data_, &count_);
  failures_.resize(static_cast<std::size_t>(count_));
  MPI_Comm local = MPI_COMM_NULL;
  check_call(MPI_Comm_split_type(data_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
             "find the ranks of this machine");
  MPI_Comm_rank(local, &local_rank_);
  MPI_Comm_size(local, &local_count_);
  MPI_Comm_free(&local);
}

// After a failure, MPI_Finalize would wait for ranks that have ended. The buffers of an exchange that has
// failed are never freed, since MPI, or another process on this machine, may still write into them.
MpiRanks::~MpiRanks() {
  if (!has_failed_ && !exchange_) MPI_Finalize();
  static_cast<void>(exchange_.release());
}

std::vector<Ranks::Bytes> MpiRanks::all_to_all(std::vector<Bytes> to) {
  if (count_ == 1) return to;
  stop_clock_.restart(Clock::now());
  check();
  if (exchange_) throw Error("the last exchange with the other ranks has failed");
  exchange_ = std::make_unique<Exchange>();
  exchange_->to = std::move(to);
  exchange_envelopes(*exchange_);
  exchange_rest(*exchange_);
  std::vector<Bytes> from = std::move(exchange_->from);
  exchange_.reset();
  return from;
}

void MpiRanks::exchange_envelopes(Exchange& e) {
  e.envelopes_to.resize(e.to.size());
  e.envelopes_from.resize(e.to.size());
  for (std::size_t r = 0; r < e.to.size(); ++r) {
    Envelope& envelope = e.envelopes_to[r];
    envelope.bytes = e.to[r].size();
    if (static_cast<int>(r) != rank_)
      std::memcpy(envelope.start.data(), e.to[r].data(), std::min(e.to[r].size(), envelope.start.size()));
  }
  check_call(MPI_Ialltoall(e.envelopes_to.data(), sizeof(Envelope), MPI_BYTE, e.envelopes_from.data(),
                           sizeof(Envelope), MPI_BYTE, data_, &e.requests.emplace_back(MPI_REQUEST_NULL)),
             "reach the other ranks");
  wait_for(e.requests);
}

// What the envelopes had no room for.
void MpiRanks::exchange_rest(Exchange& e) {
  const auto own = static_cast<std::size_t>(rank_), kStart = Envelope().start.size();
  e.requests.clear();
  e.from.resize(e.to.size());
  for (std::size_t r = 0; r < e.to.size(); ++r) {
    if (r == own) continue;
    Bytes& from = e.from[r];
    from.resize(e.envelopes_from[r].bytes);
    std::memcpy(from.data(), e.envelopes_from[r].start.data(), std::min(from.size(), kStart));
    if (from.size() <= kStart) continue;
    for_each_piece(from.size() - kStart, [&](std::size_t at, int bytes) {
      check_call(MPI_Irecv(from.data() + kStart + at, bytes, MPI_BYTE, static_cast<int>(r), 0, data_,
                           &e.requests.emplace_back(MPI_REQUEST_NULL)),
                 "receive from another rank");
    });
  }
  for (std::size_t r = 0; r < e.to.size(); ++r) {
    if (r == own || e.to[r].size() <= kStart) continue;
    for_each_piece(e.to[r].size() - kStart, [&](std::size_t at, int bytes) {
      check_call(MPI_Isend(e.to[r].data() + kStart + at, bytes, MPI_BYTE, static_cast<int>(r), 0, data_,
                           &e.requests.emplace_back(MPI_REQUEST_NULL)),
                 "send to another rank");
    });
  }
  wait_for(e.requests);
  e.from[own] = std::move(e.to[own]);
}

void MpiRanks::wait_for(std::span<MPI_Request> requests) {
  for (Patience patience;; patience.pause()) {
    int is_done = 0;
    check_call(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &is_done, MPI_STATUSES_IGNORE),
               "reach the other ranks");
    if (is_done) break;
    check();
  }
  stop_clock_.restart(Clock::now());
}

// A rank that has failed has sent a notice. One that was killed has not, but then the launcher tells all
// others to end.
void MpiRanks::check() {
  receive_notices();
  for (std::size_t r = 0; r < failures_.size(); ++r)
    if (failures_[r]) {
      has_lost_a_rank_ = true;
      throw RankLost("rank " + std::to_string(r) + " has ended: " + *failures_[r], true);
    }
  has_lost_a_rank_ = has_lost_a_rank_ || stop_clock_.is_over(Clock::now(), is_interrupted_());
  if (has_lost_a_rank_)
    throw RankLost(
        "the launcher has asked the run to end, and then another rank did not answer in time: it was "
        "killed, or is in a long step or write",
        false);
}

void MpiRanks::receive_notices() {
  for (;;) {
    int is_there = 0, bytes = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, notices_, &is_there, &status) != MPI_SUCCESS || !is_there) return;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::string text(static_cast<std::size_t>(bytes), '\0');
    if (MPI_Recv(text.data(), bytes, MPI_BYTE, status.MPI_SOURCE, 0, notices_, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS)
      return;
    failures_[static_cast<std::size_t>(status.MPI_SOURCE)] = std::move(text);
  }
}

void MpiRanks::end_in_failure(const std::string& reason) noexcept {
  has_failed_ = true;
  try {
    // Small enough for MPI to send it whether or not it is received.
    static const std::string text = reason.substr(0, kMostNotice);
    for (int r = 0; r < count_; ++r) {
      MPI_Request request = MPI_REQUEST_NULL;  // never completed: the process ends
      if (r != rank_)
        MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, r, 0, notices_, &request);
    }
    failures_[static_cast<std::size_t>(rank_)] = text;
    const auto are_all_told = [&] {
      receive_notices();
      return std::all_of(failures_.begin(), failures_.end(), [](const auto& f) { return f.has_value(); });
    };
    // Once a signal tells that a rank may have been killed, there is little time, and that rank never
    // answers. If the signal came before, and the ranks have answered since, they are only slower to end.
    const auto begin = Clock::now();
    const bool is_orderly_stop = is_interrupted_() && !has_lost_a_rank_;
    const auto is_over = [&] {
      const StopClock::Duration passed = Clock::now() - begin;
      const bool is_hurried = is_interrupted_() && !is_orderly_stop;
      return passed > kLongestLinger || (is_hurried && passed > 0.5 * stop_clock_.grace());
    };
    while (!are_all_told() && !is_over()) std::this_thread::sleep_for(1ms);
  } catch (const std::exception&) {  // of memory: the others learn it from the launcher
  }
}

}  // namespace stipple
