// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/alpha_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/core/quantile.h"
#include "stipple/core/spread.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/input_file.h"

namespace stipple {

namespace {

constexpr std::size_t kSampleSize = 8;
// More than a circular image leaves of its square (21 %), and less than objects usually do.
constexpr float kObjectShare = 0.25f;
constexpr std::size_t kExceptions = 8;  // one photo in so many may be different

constexpr float kUnreadable = -1;

// The share of a photo's pixels that are fully transparent.
float transparent_share(const std::filesystem::path& path) {
  try {
    const ByteImage image = load_byte_image(path);
    const std::size_t channels = static_cast<std::size_t>(image.channel_count);
    std::size_t transparent = 0;
    for (std::size_t i = channels - 1; i < image.values.size(); i += channels)
      transparent += image.values[i] == 0;
    return static_cast<float>(transparent) / static_cast<float>(image.pixel_count());
  } catch (const ReadError&) {
    throw;
  } catch (const Error&) {  // reported when it is loaded to be checked or trained on
    return kUnreadable;
  }
}

std::vector<float> sampled_shares(std::span<const SceneView* const> views) {
  const std::vector<std::size_t> sample = spread(views.size(), kSampleSize);
  std::vector<float> shares(sample.size());
  parallel_for(sample.size(),
               [&](std::size_t i) { shares[i] = transparent_share(views[sample[i]]->image_path); });
  std::erase(shares, kUnreadable);
  return shares;
}

bool is_nearly_all(std::size_t part, std::size_t whole) {
  return part * kExceptions >= whole * (kExceptions - 1);
}

}  // namespace

AlphaDecision decide_alpha(std::span<const SceneView> views, AlphaUse requested) {
  std::vector<const SceneView*> with_alpha;
  for (const SceneView& view : views)
    if (view.has_alpha) with_alpha.push_back(&view);
  if (with_alpha.empty()) return {requested, ""};
  if (requested != AlphaUse::kAuto) return {requested, "as requested"};
  if (!is_nearly_all(with_alpha.size(), views.size()))
    return {AlphaUse::kWeight,
            fmt::format("only {} of {} photos have an alpha channel", with_alpha.size(), views.size())};
  const std::vector<float> shares = sampled_shares(with_alpha);
  if (shares.empty()) return {AlphaUse::kWeight, "no photo that was sampled can be read"};
  const auto cut_out = static_cast<std::size_t>(
      std::count_if(shares.begin(), shares.end(), [](float share) { return share >= kObjectShare; }));
  return {is_nearly_all(cut_out, shares.size()) ? AlphaUse::kObject : AlphaUse::kWeight,
          fmt::format("{} of {} sampled photos are transparent in {:.0f} % of their pixels or more (median "
                      "{:.0f} %)",
                      cut_out, shares.size(), 100 * kObjectShare, 100 * quantile_of(shares, 0.5f))};
}

}  // namespace stipple
