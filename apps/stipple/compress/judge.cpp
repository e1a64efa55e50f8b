// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/compress/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "stipple/backend/render.h"
#include "stipple/compress/survey.h"
#include "stipple/core/spread.h"
#include "stipple/evaluate/evaluate.h"

namespace stipple {

namespace {

constexpr std::size_t kPhotoBytes = std::size_t{1} << 30;  // limit for decoded photos
constexpr std::size_t kRatedViews = 24;                    // in the search
constexpr double kMaxPsnr = 96;  // of pictures that are nearly equal: what 16 bits can tell apart

std::vector<std::size_t> all_views(const Scene& scene) {
  std::vector<std::size_t> views(scene.views.size());
  std::iota(views.begin(), views.end(), std::size_t{0});
  return views;
}

class PhotoJudge : public Judge {
 public:
  PhotoJudge(Backend& backend, const Scene& scene, const RenderOptions& render, bool has_held_out,
             std::function<void()> poll)
      : backend_(backend),
        scene_(scene),
        render_(render),
        poll_(std::move(poll)),
        photos_(scene.views, kPhotoBytes) {
    if (has_held_out) views_ = scene.test_views();
    has_held_out_ = !views_.empty();  // another scene than that of the run may have none
    if (!has_held_out_) views_ = all_views(scene);
  }

  double rate(const Gaussians& model) override { return psnr_on(spread(views_, kRatedViews), model); }
  double rate_fully(const Gaussians& model) override { return psnr_on(views_, model); }
  std::vector<Camera> cameras() const override {
    std::vector<Camera> cameras;
    for (const SceneView& view : scene_.views) cameras.push_back(view.camera);
    return cameras;
  }
  const RenderOptions& render_options() const override { return render_; }
  std::string basis() const override {
    return fmt::format("on {} {}photos", views_.size(), has_held_out_ ? "held-out " : "");
  }

 private:
  double psnr_on(const std::vector<std::size_t>& views, const Gaussians& model) {
    return evaluate(backend_, upload(backend_, model), scene_.views, views, photos_, render_,
                    [this](std::size_t) { poll_(); })
        .psnr;
  }

  Backend& backend_;
  const Scene& scene_;
  const RenderOptions& render_;
  bool has_held_out_ = false;
  std::function<void()> poll_;
  PhotoCache photos_;
  std::vector<std::size_t> views_;
};

class PictureJudge : public Judge {
 public:
  PictureJudge(Backend& backend, const Gaussians& original, const RenderOptions& render,
               std::function<void()> poll)
      : backend_(backend), render_(render), poll_(std::move(poll)) {
    Survey survey = survey_of(original);
    cameras_ = std::move(survey.cameras);
    render_.near_plane = survey.near_plane;
    ModelRenderer renderer(backend_, original);
    for (const Camera& camera : cameras_) originals_.push_back(renderer.render({camera, render_}).color);
  }

  double rate(const Gaussians& model) override {
    ModelRenderer renderer(backend_, model);
    double sum = 0;
    for (std::size_t i = 0; i < cameras_.size(); ++i) {
      poll_();
      sum += std::min(kMaxPsnr, psnr(renderer.render({cameras_[i], render_}).color, originals_[i]));
    }
    return sum / static_cast<double>(cameras_.size());
  }
  double rate_fully(const Gaussians& model) override { return rate(model); }
  std::vector<Camera> cameras() const override { return cameras_; }
  const RenderOptions& render_options() const override { return render_; }
  std::string basis() const override {
    return fmt::format("against {} pictures of the whole model", cameras_.size());
  }

 private:
  Backend& backend_;
  RenderOptions render_;
  std::function<void()> poll_;
  std::vector<Camera> cameras_;
  std::vector<Image> originals_;
};

}  // namespace

std::unique_ptr<Judge> photo_judge(Backend& backend, const Scene& scene, const RenderOptions& render,
                                   bool has_held_out, std::function<void()> poll) {
  return std::make_unique<PhotoJudge>(backend, scene, render, has_held_out, std::move(poll));
}

std::unique_ptr<Judge> picture_judge(Backend& backend, const Gaussians& original, const RenderOptions& render,
                                     std::function<void()> poll) {
  return std::make_unique<PictureJudge>(backend, original, render, std::move(poll));
}

}  // namespace stipple
