// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace stipple {

// Values that are made when they are wanted, and kept as long as all of them have at most so many bytes: the
// one that has not been used for the longest time goes first, but the newest one stays. Any thread may call
// it.
template <class Key, class Value>
class ByteCache {
 public:
  using Shared = std::shared_ptr<const Value>;
  using Make = std::function<Shared()>;
  using Size = std::function<std::size_t(const Value&)>;

  ByteCache(std::size_t most_bytes, Size size_of) : most_bytes_(most_bytes), size_of_(std::move(size_of)) {}

  // Returns the value, which is what `make` returns if it is not kept. Threads that want the same one
  // meanwhile wait for it. What `make` throws is thrown to all of them; the next call tries again.
  Shared get(const Key& key, const Make& make) {
    std::unique_lock lock(mutex_);
    if (Shared kept = find(key)) return kept;
    if (const auto found = in_making_.find(key); found != in_making_.end()) {
      const std::shared_future<Shared> made_elsewhere = found->second;
      lock.unlock();
      return made_elsewhere.get();
    }
    std::promise<Shared> promise;
    in_making_.emplace(key, promise.get_future());
    lock.unlock();
    try {
      const Shared value = make();
      lock.lock();
      keep(key, value);
      in_making_.erase(key);
      promise.set_value(value);
      return value;
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      in_making_.erase(key);
      promise.set_exception(std::current_exception());
      throw;
    }
  }

 private:
  // The caller of these holds mutex_.
  Shared find(const Key& key) {
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const auto& entry) { return entry.first == key; });
    if (found == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, found);
    return found->second;
  }

  void keep(const Key& key, const Shared& value) {
    kept_.emplace_front(key, value);
    kept_bytes_ += size_of_(*value);
    while (kept_bytes_ > most_bytes_ && kept_.size() > 1) {
      kept_bytes_ -= size_of_(*kept_.back().second);
      kept_.pop_back();
    }
  }

  const std::size_t most_bytes_;
  const Size size_of_;
  std::mutex mutex_;
  std::list<std::pair<Key, Shared>> kept_;  // most recently used first
  std::size_t kept_bytes_ = 0;
  std::map<Key, std::shared_future<Shared>> in_making_;
};

}  // namespace stipple
