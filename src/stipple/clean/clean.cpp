// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/clean.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "stipple/core/spread.h"
#include "stipple/edit/select.h"
#include "stipple/evaluate/evaluate.h"

namespace stipple {

namespace {

constexpr std::size_t kMaxExaminedViews = 200, kMaxScoredViews = 40;
constexpr int kMaxHalvings = 8;  // when searching how much can be removed

// In each round of judging, the least need / effect of a suspect that is acquitted; it is about 1 for what
// the photos need and -1 for what should not be there.
constexpr float kAcquittedFrom[] = {1, 0.75f, 0.5f, 0.25f, 0};
// After the first rounds, only what causes this share of the squared error becomes a suspect, so that the
// judgements settle.
constexpr int kSuspectingRounds = 2;
constexpr double kHarmfulShare = 0.01;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A Gaussian with a defect; `need` is that of its Evidence.
struct Candidate {
  std::uint32_t gaussian;
  Defect defect;
  float need;
};

std::vector<std::uint32_t> all_but(std::span<const Candidate> removed, std::size_t count) {
  std::vector<char> is_removed(count, 0);
  for (const Candidate& c : removed) is_removed[c.gaussian] = 1;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < count; ++i)
    if (is_removed[i] == 0) rows.push_back(i);
  return rows;
}

class PhotoCleaning {
 public:
  PhotoCleaning(Backend& backend, const Gaussians& gaussians, const CleanPhotos& input)
      : backend_(backend),
        gaussians_(gaussians),
        input_(input),
        examined_(spread(input.views, kMaxExaminedViews)),
        scored_(spread(input.views, kMaxScoredViews)) {}

  CleanResult run() {
    find_candidates();
    result_.photo_count = scored_.size();
    result_.psnr_before = psnr_without({});
    result_.psnr_without_all = result_.psnr_after = psnr_without(candidates_);
    finish(std::span(candidates_).first(removable_count()));
    return std::move(result_);
  }

 private:
  // In every round, all are judged with the suspects faded, because a veil makes others look bad and hides
  // others. Suspects that the photos turn out to need are acquitted, those that they need most first: once
  // these are back, the photos may not need the rest.
  void find_candidates() {
    const std::vector<Shape> shapes = shape_of(gaussians_).shapes;
    PhotoEvidence evidence = examine({});
    std::vector<Defect>& suspected = result_.found;
    suspected.assign(gaussians_.size(), Defect::kNone);
    int round = 0;
    for (const float acquitted_from : kAcquittedFrom) {
      const std::vector<Defect> before = suspected;
      judge(shapes, evidence, acquitted_from, round++ < kSuspectingRounds);
      if (suspected != before) evidence = examine(suspected);
    }
    for (std::uint32_t i = 0; i < gaussians_.size(); ++i)
      if (suspected[i] != Defect::kNone)
        candidates_.push_back({i, suspected[i], is_broken(i) ? -kInfinity : evidence.gaussians[i].need});
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.need < b.need; });
  }

  bool is_broken(std::uint32_t i) const { return result_.found[i] == Defect::kNonFinite; }

  void judge(std::span<const Shape> shapes, const PhotoEvidence& evidence, float acquitted_from,
             bool adds_all) {
    const std::vector<Defect> judged = find_defects(shapes, evidence.gaussians, examined_.size());
    const auto harmful = static_cast<float>(-kHarmfulShare * evidence.squared_error);
    for (std::size_t i = 0; i < judged.size(); ++i) {
      const Evidence& e = evidence.gaussians[i];
      Defect& suspected = result_.found[i];
      const bool changes = judged[i] == Defect::kNone
                               ? e.need >= acquitted_from * e.effect
                               : suspected != Defect::kNone || adds_all || e.need < harmful;
      if (changes) suspected = judged[i];
    }
  }

  PhotoEvidence examine(const std::vector<Defect>& suspected) {
    std::vector<char> is_suspect(gaussians_.size());
    std::transform(suspected.begin(), suspected.end(), is_suspect.begin(),
                   [](Defect defect) { return defect != Defect::kNone; });
    return photo_evidence(backend_, gaussians_, is_suspect, input_.scene, examined_, input_.photos,
                          input_.render, [&] { report_progress(); });
  }

  double psnr_without(std::span<const Candidate> removed) {
    const DeviceGaussians model = upload(backend_, select(gaussians_, all_but(removed, gaussians_.size())));
    return evaluate(backend_, model, input_.scene.views, scored_, input_.photos, input_.render,
                    [&](std::size_t) { report_progress(); })
        .psnr;
  }

  // How many of the candidates, which are sorted by need, can be removed. Those that the photos do not need
  // come first, so the PSNR rises with their removal and then falls. What is not drawn is always removed.
  std::size_t removable_count() {
    const auto first_needed =
        std::find_if(candidates_.begin(), candidates_.end(), [](const Candidate& c) { return c.need > 0; });
    const auto unneeded = static_cast<std::size_t>(first_needed - candidates_.begin());
    const double without_unneeded = psnr_without(std::span(candidates_).first(unneeded));
    const double least = std::max(result_.psnr_before, without_unneeded) - input_.max_loss_db;
    if (!(result_.psnr_without_all < least)) return candidates_.size();
    const bool is_good = without_unneeded >= least;
    const auto first_drawn = std::find_if(candidates_.begin(), candidates_.end(),
                                          [&](const Candidate& c) { return !is_broken(c.gaussian); });
    std::size_t good = is_good ? unneeded : static_cast<std::size_t>(first_drawn - candidates_.begin()),
                bad = is_good ? candidates_.size() : unneeded;
    result_.psnr_after = is_good ? without_unneeded : result_.psnr_before;
    for (int i = 0; i < kMaxHalvings && bad - good > 1; ++i) {
      const std::size_t middle = (good + bad) / 2;
      const double psnr = psnr_without(std::span(candidates_).first(middle));
      (psnr >= least ? good : bad) = middle;
      if (psnr >= least) result_.psnr_after = psnr;
    }
    return good;
  }

  void finish(std::span<const Candidate> removed) {
    result_.kept = all_but(removed, gaussians_.size());
    for (const Candidate& c : candidates_) ++result_.classes[static_cast<std::size_t>(c.defect)].found;
    for (std::size_t k = 1; k < result_.classes.size(); ++k) {
      std::vector<Candidate> of_class;
      std::copy_if(removed.begin(), removed.end(), std::back_inserter(of_class),
                   [k](const Candidate& c) { return c.defect == static_cast<Defect>(k); });
      result_.classes[k].removed = of_class.size();
      if (!of_class.empty()) result_.classes[k].loss_db = result_.psnr_before - psnr_without(of_class);
    }
  }

  void report_progress() {
    const std::size_t total = (std::size(kAcquittedFrom) + 1) * examined_.size();
    done_ = std::min(done_ + 1, total);
    if (input_.progress) input_.progress(done_, total);
  }

  Backend& backend_;
  const Gaussians& gaussians_;
  const CleanPhotos& input_;
  const std::vector<std::size_t> examined_, scored_;
  std::vector<Candidate> candidates_;
  CleanResult result_;
  std::size_t done_ = 0;
};

}  // namespace

CleanResult clean(const Gaussians& gaussians) {
  CleanResult result;
  result.found = find_defects(shape_of(gaussians).shapes);
  for (std::uint32_t i = 0; i < gaussians.size(); ++i) {
    CleanedClass& c = result.classes[static_cast<std::size_t>(result.found[i])];
    if (result.found[i] == Defect::kNone)
      result.kept.push_back(i);
    else
      c.removed = ++c.found;
  }
  return result;
}

CleanResult clean(Backend& backend, const Gaussians& gaussians, const CleanPhotos& input) {
  assert(!input.views.empty());
  return PhotoCleaning(backend, gaussians, input).run();
}

}  // namespace stipple
