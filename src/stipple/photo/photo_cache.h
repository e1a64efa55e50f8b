// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "stipple/photo/load_photo.h"
#include "stipple/scene/scene.h"

namespace stipple {

// The most that the view's photo takes in memory. Whether it has weights is known only once it is decoded.
std::size_t photo_bytes(const SceneView& view);

// Decoded photos within a budget of bytes, and a worker that decodes ahead. When everything fits, everything
// stays; else the photo goes first whose next use is farthest: those that are not in the order of prefetch(),
// least recently used first, then the order from its end. Any thread may call, but not from within a parallel
// loop, which might wait for itself.
class PhotoCache {
 public:
  using Loader = std::function<Photo(const SceneView&)>;
  using Progress = std::function<void(std::size_t done, std::size_t total)>;

  PhotoCache(const std::vector<SceneView>& views, std::size_t max_bytes, Loader load = load_photo);
  ~PhotoCache();  // waits for the photos that are being decoded, not for those to come
  PhotoCache(const PhotoCache&) = delete;
  PhotoCache& operator=(const PhotoCache&) = delete;

  // The photo of a view; decodes it unless it is there. Throws what load_photo throws, also when it was the
  // worker that met it; the next call tries again.
  std::shared_ptr<const Photo> get(std::size_t view);

  // The views that will be asked for next, in order: the worker decodes them ahead while there is room. Every
  // get() takes its view off the order.
  void prefetch(std::span<const std::size_t> next);

  // Decodes all views, on all cores, as long as they fit. What fails is thrown by get(). `progress` is called
  // once a view, from any thread but never from two at a time.
  void load_all(const Progress& progress = {});

  // Photos held and being decoded, the latter as photo_bytes() says: never more than the budget, but for the
  // one that get() is asked for, which is always served.
  std::size_t size_bytes() const;
  std::size_t peak_bytes() const;

 private:
  struct Entry {
    std::shared_ptr<const Photo> photo;
    std::exception_ptr failure;  // of the worker, until get() throws it
    bool is_decoding = false;
    std::uint64_t last_use = 0;
  };

  struct Outcome {
    std::shared_ptr<const Photo> photo;
    std::exception_ptr failure;
  };
  Outcome decode(std::size_t view) const;
  void decode_ahead(std::size_t view);
  bool start_if_it_fits(std::size_t view);
  void work(std::stop_token stop);

  // These are called while mutex_ is held.
  bool is_missing(std::size_t view) const;
  bool fits(std::size_t bytes) const { return size_bytes_ + bytes <= max_bytes_; }
  std::vector<std::size_t> next_uses() const;
  std::vector<std::size_t> droppable(std::size_t first_use) const;
  void drop(std::span<const std::size_t> views, std::size_t bytes);
  std::optional<std::size_t> start_next();
  void start(std::size_t view);
  void finish(std::size_t view, const std::shared_ptr<const Photo>& photo);
  void resize_to(std::size_t bytes);

  const std::vector<SceneView> views_;
  const std::size_t max_bytes_;
  const Loader load_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Entry> entries_;     // one a view
  std::deque<std::size_t> order_;  // views to be asked for
  std::size_t size_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
  std::uint64_t use_count_ = 0;
  std::jthread worker_;  // last, so that it ends before what it uses
};

}  // namespace stipple
