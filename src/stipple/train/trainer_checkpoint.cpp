// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "stipple/core/byte_text.h"
#include "stipple/ranks/collectives.h"
#include "stipple/train/checkpoint_format.h"
#include "stipple/train/checkpoint_writer.h"
#include "stipple/train/trainer_impl.h"

namespace stipple {

using nlohmann::json;

namespace {

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

// The arrays are downloaded one by one, since all of them together may not fit into the host's memory.
void Trainer::Impl::save(const std::filesystem::path& path) const {
  require_whole();
  const std::string text = checkpoint_text().dump();
  CheckpointHead head{{}, kCheckpointVersion, static_cast<std::uint32_t>(text.size())};
  std::memcpy(head.magic, kCheckpointMagic, sizeof(kCheckpointMagic));
  CheckpointWriter file(path, ranks_);
  file.add_from_first(std::as_bytes(std::span(&head, 1)));
  file.add_from_first(std::as_bytes(std::span(text)));
  const auto add_values = [&](const auto& values) { file.add(std::as_bytes(std::span(values))); };
  const auto add = [&](const auto& array) { add_values(array.download(backend_)); };
  const auto add_row = [&](int, const auto& array) { add(array); };
  for_each_parameter(add_row, device_.gaussians);
  for_each_moment(add_row, device_.moments);
  add(device_.statistics);
  add(device_.precomputed.filter_variance);
  for_each_parameter([&](int, const auto& values) { add_values(values); }, best_);
  add_values(best_filter_);
  file.commit();
}

json Trainer::Impl::checkpoint_text() const {
  const auto size = [&](const auto& array) { return sum_over_ranks(ranks_, array.size()).total; };
  return {{"identity", run_identity(options_, scene_, all_views_.size(), watched_.size())},
          {"start", start_ ? json(*start_) : json()},
          {"step", state_.step},
          {"finished_step", state_.finished_step},
          {"checked_step", state_.checked_step},
          {"polish_from", state_.polish_from},
          {"polish_until", state_.polish_until},
          {"has_all_views", state_.has_all_views},
          {"visible_harmonics_only", state_.visible_harmonics_only},
          {"guard", to_json(guard_.state())},
          {"best_gaussians", size(best_)},
          {"best_sh_degree", best_.sh_degree},
          {"filter", size(device_.precomputed.filter_variance)},
          {"best_filter", size(best_filter_)},
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
          {"gaussians", size(device_.gaussians)},
          {"sh_degree", device_.gaussians.sh_degree}};
}

}  // namespace stipple
