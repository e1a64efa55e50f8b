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

// An upper bound for the memory of a view's photo: whether it has weights or alpha is known only after
// decoding.
std::size_t photo_bytes(const SceneView& view);

// Decoded photos within a budget of bytes, and a worker thread that decodes ahead. If all photos fit, all are
// kept. Otherwise the photo whose next use is farthest away is dropped first: photos that are not in the
// order given to prefetch(), least recently used first, then the order from its end. Any thread may call, but
// not from within a parallel loop, which could deadlock.
class PhotoCache {
 public:
  using Loader = std::function<Photo(const SceneView&)>;
  using Progress = std::function<void(std::size_t done, std::size_t total)>;

  PhotoCache(const std::vector<SceneView>& views, std::size_t max_bytes, Loader load = load_photo);
  ~PhotoCache();  // waits for photos that are being decoded, but not for the rest of the order
  PhotoCache(const PhotoCache&) = delete;
  PhotoCache& operator=(const PhotoCache&) = delete;

  // Returns the photo of a view, decoding it if necessary. Throws what load_photo throws, including what it
  // threw in the worker; the next call tries again.
  std::shared_ptr<const Photo> get(std::size_t view);

  // Sets the views that will be requested next, in order. The worker decodes them ahead as far as they fit.
  // Each get() removes its view from the order.
  void prefetch(std::span<const std::size_t> next);

  // Decodes all views on all cores, as far as they fit. Errors are thrown by get(). `progress` is called once
  // per view, from any thread but never concurrently.
  void load_all(const Progress& progress = {});

  // The size of the photos held and of those being decoded, the latter according to photo_bytes(). Never
  // exceeds the budget, except that get() always serves its photo.
  std::size_t size_bytes() const;
  std::size_t peak_bytes() const;

 private:
  struct Entry {
    std::shared_ptr<const Photo> photo;
    std::exception_ptr failure;  // in the worker, until get() throws it
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

  // The caller of these must hold mutex_.
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
  std::vector<Entry> entries_;     // one per view
  std::deque<std::size_t> order_;  // views that will be requested
  std::size_t size_bytes_ = 0;
  std::size_t peak_bytes_ = 0;
  std::uint64_t use_count_ = 0;
  std::jthread worker_;  // last, so that it ends before the members it uses
};

}  // namespace stipple
