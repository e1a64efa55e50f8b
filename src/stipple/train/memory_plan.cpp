// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/memory_plan.h"

#include <algorithm>
#include <cmath>

#include "stipple/backend/backend.h"
#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"
#include "stipple/train/density/gather_in_place.h"
#include "stipple/train/target_cache.h"

namespace stipple {

namespace {

constexpr double kSpareShare = 0.05;   // by which the plan may be wrong
constexpr std::size_t kPhotoPart = 4;  // photos get at most 1 / kPhotoPart

// Growth adds Gaussians where photos show detail, so that a view may come to show a larger share of them than
// of the points.
constexpr double kMoreVisible = 1.5;

// Of the host's memory that is free, the share that training may take, and what density control takes there
// per Gaussian, for its input and its plan.
constexpr double kHostShare = 0.8;
constexpr std::size_t kPlanningBytes = 128;

constexpr std::size_t kMostRequired = std::size_t{1} << 30;  // in a block, to find out whether there is room

// The footprints that cover a pixel, in trained models of real scenes; of the city of the benchmark, a third.
constexpr double kFootprintsPerPixel = 330, kMostPairsEach = 5;

constexpr std::size_t kMostCounted = 20'000;  // points: enough for the share of them that a view shows

// Photos that do not stay on the device are there during their step.
std::size_t photos_in_use(const MemoryNeeds& needs) {
  return static_cast<std::size_t>(needs.batch) *
         target_bytes(needs.largest_view_px, needs.has_weights, needs.has_alpha);
}

PassSize pass_size(std::size_t count, std::size_t visible, const MemoryNeeds& needs) {
  PassSize size;
  size.gaussians = count;
  size.visible = visible;
  const double pairs_each = needs.pairs_per_visible
                                ? *needs.pairs_per_visible
                                : estimated_pairs_per_visible(visible, needs.largest_view_px);
  size.pairs = static_cast<std::size_t>(static_cast<double>(visible) * pairs_each);
  size.pixels = needs.largest_view_px;
  size.has_depth = needs.has_depth;
  size.has_absolute = needs.has_absolute;
  size.sh_degree = needs.sh_degree;
  if (needs.rank_count == 1) size.harmonics = needs.harmonics;  // ranks copy nothing ahead
  return size;
}

// A batch of several views needs a sum of their gradients, and so does every step over several ranks. Each of
// these projects its Gaussians in one pass, and draws what all have projected in another.
std::size_t step_bytes(const Backend& backend, std::size_t count, const MemoryNeeds& needs) {
  const bool has_sum = needs.batch > 1 || needs.rank_count > 1;
  const std::size_t sum = has_sum ? parameter_bytes(needs.sh_degree) + sizeof(Vec2f) : 0;
  // All that a view shows may be the part of one rank.
  const auto shown =
      static_cast<std::size_t>(static_cast<double>(count * needs.rank_count) * needs.visible_share);
  const std::size_t own = backend.pass_bytes(pass_size(count, std::min(count, shown), needs));
  if (needs.rank_count == 1) return count * sum + own;
  // The splats that this rank sends and receives in a round, and the gradients that come back.
  const std::size_t exchanged =
      shown * (2 * sizeof(ProjectedSplat) + sizeof(Splat) + (needs.has_absolute ? sizeof(Vec2f) : 0));
  return count * sum + own + backend.pass_bytes(pass_size(shown, shown, needs)) + exchanged;
}

// The rows to gather, and what gathering the largest array takes.
std::size_t refining_bytes(const Backend& backend, std::size_t count, const MemoryNeeds& needs) {
  return count * sizeof(std::uint32_t) +
         gathering_bytes(backend, needs.harmonics, count, count, needs.sh_degree).device;
}

// Of an array with so many elements per Gaussian.
template <class T>
std::size_t bytes_each(int elements, const DeviceArray<T>&) {
  return static_cast<std::size_t>(elements) * sizeof(T);
}

// The largest number of Gaussians that fits, by bisection.
std::size_t most_gaussians(const Backend& backend, std::size_t room, const MemoryNeeds& needs) {
  const std::size_t least_bytes = train_state_bytes(1, needs.sh_degree, needs.harmonics).device;
  std::size_t fit = 0, too_many = room / least_bytes + 1;
  DeviceGaussians g;
  g.sh_degree = needs.sh_degree;  // its coefficients are the largest array
  too_many = std::min(too_many, backend.most_bytes_at_once() / bytes_each(g.sh_count(), g.sh) + 1);
  if (training_bytes(backend, 0, needs) > room) return 0;
  while (too_many - fit > 1) {
    const std::size_t middle = fit + (too_many - fit) / 2;
    (training_bytes(backend, middle, needs) <= room ? fit : too_many) = middle;
  }
  return fit;
}

std::size_t less(std::size_t a, std::size_t b) { return a > b ? a - b : 0; }

}  // namespace

double estimated_pairs_per_visible(std::size_t visible, std::size_t pixels) {
  if (visible == 0) return kMostPairsEach;
  const double area_px2 = kFootprintsPerPixel * static_cast<double>(pixels) / static_cast<double>(visible);
  const double tiles_across = 1 + std::sqrt(area_px2) / Math<float>::tile_size_px;
  return std::min(kMostPairsEach, tiles_across * tiles_across);
}

double visible_share(const Scene& scene, std::span<const std::size_t> views) {
  if (!scene.has_measured_points() || scene.points.size() == 0) return 1;
  const std::size_t stride = (scene.points.size() - 1) / kMostCounted + 1;
  std::vector<std::size_t> seen(views.size(), 0);
  parallel_for(views.size(), [&](std::size_t v) {
    for (std::size_t i = 0; i < scene.points.size(); i += stride)
      seen[v] += project_point(scene.views[views[v]].camera, scene.points.position[i]).has_value();
  });
  const std::size_t counted = (scene.points.size() - 1) / stride + 1;
  const std::size_t most = seen.empty() ? counted : *std::max_element(seen.begin(), seen.end());
  return std::min(1.0, kMoreVisible * static_cast<double>(most) / static_cast<double>(counted));
}

std::size_t parameter_bytes(int sh_degree) {
  DeviceGaussians g;
  g.sh_degree = sh_degree;
  std::size_t bytes = 0;
  for_each_parameter([&](int elements, const auto& array) { bytes += bytes_each(elements, array); }, g);
  return bytes;
}

std::size_t moment_bytes(int sh_degree) {
  AdamMoments moments;
  moments.sh_degree = sh_degree;
  std::size_t bytes = 0;
  for_each_moment([&](int elements, const auto& array) { bytes += bytes_each(elements, array); }, moments);
  return bytes;
}

std::size_t harmonics_bytes(int sh_degree) {
  TrainState state;
  state.gaussians.sh_degree = state.moments.sh_degree = sh_degree;
  return bytes_each(state.gaussians.sh_count(), state.gaussians.sh) + bytes_each(3, state.moments.sh_base) +
         bytes_each(state.moments.sh_rest_count(), state.moments.sh_rest);
}

PlacedBytes train_state_bytes(std::size_t count, int sh_degree, Place harmonics) {
  const std::size_t all =
                        parameter_bytes(sh_degree) + moment_bytes(sh_degree) + sizeof(Vec2f) + sizeof(float),
                    of_harmonics = harmonics_bytes(sh_degree);
  return PlacedBytes{count * (all - of_harmonics), 0} + bytes_in(harmonics, count * of_harmonics);
}

// When a run is resumed, its whole state and the guard's model are on the host while the harmonics are
// copied. Ranks hold several copies of the largest array while they exchange it.
std::size_t most_harmonics_on_host(std::size_t free_bytes, std::size_t photo_bytes, int sh_degree,
                                   std::size_t rank_count) {
  const auto usable = static_cast<std::size_t>(kHostShare * static_cast<double>(free_bytes));
  const std::size_t parameters = parameter_bytes(sh_degree), harmonics = harmonics_bytes(sh_degree);
  const std::size_t training = harmonics + parameters + kPlanningBytes +
                               (rank_count > 1 ? 3 * parameters : parameters),
                    resuming = 3 * parameters + moment_bytes(sh_degree);
  return less(usable, photo_bytes) / std::max(training, resuming);
}

std::size_t fewer_gaussians(std::size_t count) {
  const std::size_t fewer = count - count / 10;
  std::size_t unit = 1;
  while (fewer / unit >= 100) unit *= 10;
  return fewer / unit * unit;
}

// The buffers of a step are released before a refinement.
std::size_t training_bytes(const Backend& backend, std::size_t count, const MemoryNeeds& needs) {
  return train_state_bytes(count, needs.sh_degree, needs.harmonics).device +
         std::max(step_bytes(backend, count, needs), refining_bytes(backend, count, needs));
}

// Not as one block, since a driver may have a limit on each.
void require_room(Backend& backend, PlacedBytes bytes) {
  const std::size_t most = std::min(backend.most_bytes_at_once(), kMostRequired);
  std::vector<std::unique_ptr<Memory>> blocks;
  if (backend.own_memory_bytes() > 0)
    for (std::size_t left = bytes.device; left > 0; left -= std::min(left, most))
      blocks.push_back(backend.allocate(std::min(left, most)));
  for (std::size_t left = bytes.host; left > 0; left -= std::min(left, most))
    blocks.push_back(backend.allocate_on_host(std::min(left, most)));
}

MemoryNeeds memory_needs(const Scene& scene, std::span<const std::size_t> views) {
  MemoryNeeds needs;
  for (const std::size_t v : views) {
    const SceneView& view = scene.views[v];
    const std::size_t pixels = static_cast<std::size_t>(view.camera.width_px) * view.camera.height_px;
    const bool has_weights = !view.mask_path.empty() || !view.lens.is_pinhole(),
               has_alpha = view.alpha == AlphaUse::kObject;
    needs.photo_bytes += target_bytes(pixels, has_weights, has_alpha);
    needs.largest_view_px = std::max(needs.largest_view_px, pixels);
    needs.has_weights = needs.has_weights || has_weights;
    needs.has_alpha = needs.has_alpha || has_alpha;
  }
  needs.visible_share = visible_share(scene, views);
  return needs;
}

MemoryPlan plan_memory(const Backend& backend, const MemoryNeeds& needs) {
  const std::size_t own_bytes = backend.own_memory_bytes();
  const auto spare = static_cast<std::size_t>(static_cast<double>(own_bytes) * kSpareShare);
  const std::size_t room = own_bytes - spare, image_bytes = training_bytes(backend, 0, needs);
  const bool all_fit = needs.wanted_gaussians > 0 &&
                       needs.photo_bytes + training_bytes(backend, needs.wanted_gaussians, needs) <= room;
  MemoryPlan plan;
  plan.photo_bytes =
      all_fit ? needs.photo_bytes : std::min(needs.photo_bytes, less(room, image_bytes) / kPhotoPart);
  const std::size_t photos =
      plan.photo_bytes + (plan.photo_bytes < needs.photo_bytes ? photos_in_use(needs) : 0);
  const auto most = [&](Place harmonics) {
    MemoryNeeds there = needs;
    there.harmonics = harmonics;
    return photos < room ? most_gaussians(backend, room - photos, there) : 0;
  };
  plan.max_on_device = most(needs.harmonics);
  if (needs.most_on_host > 0) plan.max_with_host = most(Place::kHost);
  plan.most_on_host = needs.most_on_host;
  return plan;
}

}  // namespace stipple
