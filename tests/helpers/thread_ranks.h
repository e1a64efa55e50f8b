// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ranks that are threads of one process.
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/ranks/ranks.h"

namespace stipple {

// Calls body(ranks) on `count` threads. If one throws, the others find it missing, as processes would, and
// the first exception is thrown again here.
inline void run_as_ranks(int count, const std::function<void(Ranks&)>& body) {
  struct Exchange {  // what all threads share
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::vector<Ranks::Bytes>> posted;  // by sender, then by receiver
    int arrived = 0, left = 0;
    bool is_broken = false;
  };
  class ThreadRanks : public Ranks {
   public:
    ThreadRanks(Exchange& shared, int rank, int count) : shared_(shared), rank_(rank), count_(count) {}
    int rank() const override { return rank_; }
    int count() const override { return count_; }
    std::vector<Bytes> all_to_all(std::vector<Bytes> to) override {
      std::unique_lock lock(shared_.mutex);
      wait(lock, [&] { return shared_.left == 0; });  // all have taken what the last exchange brought
      shared_.posted[static_cast<std::size_t>(rank_)] = std::move(to);
      ++shared_.arrived;
      shared_.changed.notify_all();
      wait(lock, [&] { return shared_.arrived == count_; });
      std::vector<Bytes> from;
      for (auto& sender : shared_.posted)
        from.push_back(std::move(sender.at(static_cast<std::size_t>(rank_))));
      if (++shared_.left == count_) shared_.arrived = shared_.left = 0;
      shared_.changed.notify_all();
      return from;
    }

   private:
    void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_over) {
      shared_.changed.wait(lock, [&] { return shared_.is_broken || is_over(); });
      if (shared_.is_broken) throw Error("another rank has ended");
    }
    Exchange& shared_;
    int rank_, count_;
  };

  Exchange shared;
  shared.posted.resize(static_cast<std::size_t>(count));
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      try {
        ThreadRanks ranks(shared, rank, count);
        body(ranks);
      } catch (...) {
        const std::lock_guard lock(shared.mutex);
        if (!first) first = std::current_exception();
        shared.is_broken = true;
        shared.changed.notify_all();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace stipple
