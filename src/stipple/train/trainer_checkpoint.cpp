// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "stipple/core/byte_text.h"
#include "stipple/core/checksum.h"
#include "stipple/io/output_file.h"
#include "stipple/train/checkpoint_format.h"
#include "stipple/train/trainer_impl.h"

namespace stipple {

using nlohmann::json;

namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

json to_json(const GuardState& g) {
  return {{"best_step", g.best_step},
          {"best_psnr", g.best_psnr},
          {"best_count", g.best_count},
          {"best_training_psnr", g.best_training_psnr},
          {"training_psnr", g.training_psnr},
          {"training_steps", g.training_steps},
          {"worse_in_a_row", g.worse_in_a_row},
          {"collapses", g.collapses},
          {"may_grow", g.may_grow}};
}

}  // namespace

json run_identity(const TrainOptions& o, const Scene& scene, std::size_t view_count,
                  std::size_t watched_count) {
  return {{"steps", o.steps},
          {"seed", o.seed},
          {"batch", o.batch},
          {"strategy", o.strategy == Strategy::kAdc ? "adc" : "mcmc"},
          {"sh_degree", o.sh_degree},
          {"guard", o.guard == GuardUse::kAuto ? "auto" : "off"},
          {"antialiased", o.render.antialiased},
          {"min_size", o.min_size_px},
          {"views", view_count},
          {"watched_views", watched_count},
          {"first_view", utf8_from_bytes(scene.views[0].name)},
          {"width", scene.views[0].camera.width_px},
          {"height", scene.views[0].camera.height_px}};
}

void Trainer::Impl::save(const std::filesystem::path& path) const {
  require_whole();
  json text = {{"identity", run_identity(options_, scene_, all_views_.size(), watched_.size())},
               {"start", start_ ? json(*start_) : json()},
               {"step", state_.step},
               {"finished_step", state_.finished_step},
               {"checked_step", state_.checked_step},
               {"polish_from", state_.polish_from},
               {"polish_until", state_.polish_until},
               {"has_all_views", state_.has_all_views},
               {"guard", to_json(guard_.state())},
               {"best_gaussians", best_.size()},
               {"best_sh_degree", best_.sh_degree},
               {"filter", device_.precomputed.filter_variance.size()},
               {"best_filter", best_filter_.size()},
               {"photos", fingerprints_},
               {"phase", static_cast<int>(phase_)},
               {"loss", report_.loss},
               {"psnr", report_.psnr},
               {"adam_step", state_.adam_step},
               {"skipped", state_.skipped},
               {"skipped_in_a_row", state_.skipped_in_a_row},
               {"view_counter", state_.view_counter},
               {"density_counter", state_.density_counter},
               {"background_counter", state_.background_counter},
               {"order", state_.order},
               {"position", state_.position},
               {"gaussians", device_.gaussians.size()},
               {"sh_degree", device_.gaussians.sh_degree}};
  const std::string dumped = text.dump();
  const std::vector<Vec2f> statistics = device_.statistics.download(backend_);
  std::vector<Gaussians> parts;
  for (const DeviceGaussians* g : {&device_.gaussians, &device_.moments.first, &device_.moments.second})
    parts.push_back(download(backend_, *g));
  const std::vector<float> filter = device_.precomputed.filter_variance.download(backend_);
  const Gaussians best = download(backend_, best_);
  const std::vector<float> best_filter = best_filter_.download(backend_);

  // The data are traversed twice, since the checksum precedes them in the file.
  const auto for_each_piece = [&](auto&& f) {
    f(std::as_bytes(std::span(dumped)));
    for (const Gaussians& part : parts) for_each_parameter([&](int, const auto& a) { f(bytes_of(a)); }, part);
    f(bytes_of(statistics));
    f(bytes_of(filter));
    for_each_parameter([&](int, const auto& a) { f(bytes_of(a)); }, best);
    f(bytes_of(best_filter));
  };
  CheckpointHead head{{}, kCheckpointVersion, static_cast<std::uint32_t>(dumped.size()), 0};
  std::memcpy(head.magic, kCheckpointMagic, sizeof(kCheckpointMagic));
  for_each_piece([&](std::span<const std::byte> bytes) { head.checksum = checksum(head.checksum, bytes); });
  OutputFile file(path);
  file.write(std::as_bytes(std::span(&head, 1)));
  for_each_piece([&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

}  // namespace stipple
