// SPDX-License-Identifier: Apache-2.0
#include "stipple/photo/photo_cache.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <tuple>
#include <utility>

#include "stipple/core/parallel.h"

namespace stipple {

std::size_t photo_bytes(const SceneView& view) {
  const bool may_have_weights =
      !view.mask_path.empty() || view.alpha == AlphaUse::kWeight || !view.lens.is_pinhole();
  const std::size_t pixel_count = static_cast<std::size_t>(view.camera.width_px) * view.camera.height_px;
  const bool may_have_alpha = view.alpha == AlphaUse::kObject;
  return pixel_count * (std::size_t{3} + may_have_weights + may_have_alpha);
}

PhotoCache::PhotoCache(const std::vector<SceneView>& views, std::size_t max_bytes, Loader load)
    : views_(views),
      max_bytes_(max_bytes),
      load_(std::move(load)),
      entries_(views.size()),
      worker_([this](std::stop_token stop) { work(std::move(stop)); }) {}

PhotoCache::~PhotoCache() = default;

std::shared_ptr<const Photo> PhotoCache::get(std::size_t view) {
  assert(view < views_.size());
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[view];
  changed_.wait(lock, [&] { return !entry.is_decoding; });
  entry.last_use = ++use_count_;
  const auto use = std::find(order_.begin(), order_.end(), view);
  if (use != order_.end()) order_.erase(use);
  changed_.notify_all();  // the worker may now drop this photo for its next one
  if (entry.failure) std::rethrow_exception(std::exchange(entry.failure, nullptr));
  if (entry.photo) return entry.photo;

  drop(droppable(0), photo_bytes(views_[view]));
  start(view);
  lock.unlock();
  const Outcome outcome = decode(view);
  lock.lock();
  finish(view, outcome.photo);
  if (outcome.failure) std::rethrow_exception(outcome.failure);
  return outcome.photo;
}

void PhotoCache::prefetch(std::span<const std::size_t> next) {
  const std::lock_guard lock(mutex_);
  order_.assign(next.begin(), next.end());
  changed_.notify_all();
}

void PhotoCache::load_all(const Progress& progress) {
  std::mutex reporting;
  std::size_t done = 0;
  parallel_for(views_.size(), [&](std::size_t view) {
    if (start_if_it_fits(view)) decode_ahead(view);
    const std::lock_guard lock(reporting);
    ++done;
    if (progress) progress(done, views_.size());
  });
}

std::size_t PhotoCache::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return size_bytes_;
}

std::size_t PhotoCache::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

PhotoCache::Outcome PhotoCache::decode(std::size_t view) const {
  try {
    return {std::make_shared<const Photo>(load_(views_[view])), nullptr};
  } catch (...) {
    return {nullptr, std::current_exception()};
  }
}

void PhotoCache::decode_ahead(std::size_t view) {
  Outcome outcome = decode(view);
  const std::lock_guard lock(mutex_);
  finish(view, outcome.photo);
  entries_[view].failure = std::move(outcome.failure);
}

bool PhotoCache::start_if_it_fits(std::size_t view) {
  const std::lock_guard lock(mutex_);
  const bool can = is_missing(view) && fits(photo_bytes(views_[view]));
  if (can) start(view);
  return can;
}

void PhotoCache::work(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  std::optional<std::size_t> view;
  const auto found = [&] {
    try {
      if (!stop.stop_requested()) view = start_next();
    } catch (const std::bad_alloc&) {  // nothing is decoded ahead, and get() reports what is wrong
    }
    return view.has_value();
  };
  while (changed_.wait(lock, stop, found)) {
    lock.unlock();
    decode_ahead(*std::exchange(view, std::nullopt));
    lock.lock();
  }
}

// Neither held, nor being decoded, nor known to fail.
bool PhotoCache::is_missing(std::size_t view) const {
  const Entry& entry = entries_[view];
  return !entry.photo && !entry.is_decoding && !entry.failure;
}

// For each view, the position of its first use in the order, or the order's length if it has none.
std::vector<std::size_t> PhotoCache::next_uses() const {
  std::vector<std::size_t> uses(views_.size(), order_.size());
  for (std::size_t i = order_.size(); i-- > 0;) uses[order_[i]] = i;
  return uses;
}

// The photos that are not used before this position in the order, sorted by when to drop them.
std::vector<std::size_t> PhotoCache::droppable(std::size_t first_use) const {
  const std::vector<std::size_t> uses = next_uses();
  std::vector<std::size_t> views;
  for (std::size_t view = 0; view < entries_.size(); ++view) {
    if (entries_[view].photo && uses[view] >= first_use) views.push_back(view);
  }
  std::sort(views.begin(), views.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(uses[b], entries_[a].last_use, a) < std::tuple(uses[a], entries_[b].last_use, b);
  });
  return views;
}

// Drops photos until this many bytes fit, or all are dropped.
void PhotoCache::drop(std::span<const std::size_t> views, std::size_t bytes) {
  for (const std::size_t view : views) {
    if (fits(bytes)) return;
    size_bytes_ -= entries_[view].photo->size_bytes();
    entries_[view].photo.reset();
  }
}

// Starts the worker's next view if it fits, if necessary after dropping photos that are used later.
std::optional<std::size_t> PhotoCache::start_next() {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::size_t view = order_[i];
    if (!is_missing(view)) continue;
    const std::size_t bytes = photo_bytes(views_[view]);
    const std::vector<std::size_t> later = droppable(i + 1);
    std::size_t kept_bytes = size_bytes_;
    for (const std::size_t held : later) kept_bytes -= entries_[held].photo->size_bytes();
    if (kept_bytes + bytes > max_bytes_) return std::nullopt;
    drop(later, bytes);
    start(view);
    return view;
  }
  return std::nullopt;
}

void PhotoCache::start(std::size_t view) {
  entries_[view].is_decoding = true;
  resize_to(size_bytes_ + photo_bytes(views_[view]));
}

// A photo that does not fit is not kept.
void PhotoCache::finish(std::size_t view, const std::shared_ptr<const Photo>& photo) {
  entries_[view].is_decoding = false;
  resize_to(size_bytes_ - photo_bytes(views_[view]));
  if (photo && fits(photo->size_bytes())) {
    entries_[view].photo = photo;
    resize_to(size_bytes_ + photo->size_bytes());
  }
  changed_.notify_all();
}

void PhotoCache::resize_to(std::size_t bytes) {
  size_bytes_ = bytes;
  peak_bytes_ = std::max(peak_bytes_, bytes);
}

}  // namespace stipple
