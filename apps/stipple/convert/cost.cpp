// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/convert/cost.h"

#include <fmt/format.h>

#include <cmath>

#include "apps/stipple/terminal/format.h"
#include "apps/stipple/terminal/progress.h"
#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/terminal/table.h"
#include "stipple/backend/render.h"
#include "stipple/core/error.h"
#include "stipple/core/spread.h"
#include "stipple/evaluate/evaluate.h"

namespace stipple {

namespace {

constexpr std::size_t kPhotoBytes = std::size_t{1} << 28;  // limit for decoded photos
constexpr std::size_t kMostViews = 16;

double squared_error(double psnr) { return std::pow(10.0, -psnr / 10); }
double psnr_of(double squared_error) { return -10 * std::log10(squared_error); }

// A photo in which no pixel counts has NaN as a score and is left out.
template <class Value>
double mean_of(const std::vector<ViewCost>& views, const Value& value) {
  double sum = 0, count = 0;
  for (const ViewCost& view : views)
    if (!std::isnan(value(view))) sum += value(view), ++count;
  return sum / count;
}

ViewCost mean_of(const std::vector<ViewCost>& views) {
  return {"mean", psnr_of(mean_of(views, [](const ViewCost& v) { return squared_error(v.between); })),
          mean_of(views, [](const ViewCost& v) { return v.original; }),
          mean_of(views, [](const ViewCost& v) { return v.converted; })};
}

}  // namespace

ConversionCost conversion_cost(Backend& backend, const Gaussians& original, const Gaussians& converted,
                               const Scene& scene, const RenderOptions& options) {
  std::vector<std::size_t> views = scene.test_views();
  if (views.empty()) views = scene.train_views();
  ConversionCost cost;
  cost.view_count = views.size();
  views = spread(views, kMostViews);
  PhotoCache photos(scene.views, kPhotoBytes);
  photos.prefetch(views);
  ModelRenderer before(backend, original), after(backend, converted);
  Progress progress(static_cast<int>(views.size()));
  for (const std::size_t i : views) {
    const SceneView& view = scene.views[i];
    const Image a = before.render({view.camera, options}).color,
                b = after.render({view.camera, options}).color;
    const auto photo = photos.get(i);
    const Image target = image_of(*photo, options.background);
    cost.views.push_back(
        {view.name, psnr(a, b), psnr(a, target, photo->weight), psnr(b, target, photo->weight)});
    progress.update(static_cast<int>(cost.views.size()), "views");
  }
  progress.finish(static_cast<int>(views.size()), "views");
  cost.mean = mean_of(cost.views);
  return cost;
}

void print_cost(const ConversionCost& cost) {
  std::vector<std::vector<std::string>> rows = {{"view", "between them", "original", "converted"}};
  const auto add = [&](const ViewCost& v) {
    rows.push_back({v.view, std::isinf(v.between) ? "equal" : format_number(v.between, 2),
                    format_number(v.original, 2), format_number(v.converted, 2)});
  };
  for (const ViewCost& v : cost.views) add(v);
  add(cost.mean);
  print("\nPSNR in dB of the two models' pictures, and of each against the photos, in {} of {} views\n",
        cost.views.size(), cost.view_count);
  print_table(rows);
}

}  // namespace stipple
