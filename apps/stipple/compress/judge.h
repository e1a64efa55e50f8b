// SPDX-License-Identifier: Apache-2.0
#pragma once
// The quality of a model, as stipple compress measures it.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/scene/scene.h"

namespace stipple {

class Judge {
 public:
  virtual ~Judge() = default;
  // Mean PSNR in dB. The search rates dozens of models, each by a part of the views; the report, by all.
  virtual double rate(const Gaussians& model) = 0;
  virtual double rate_fully(const Gaussians& model) = 0;
  virtual std::vector<Camera> cameras() const = 0;          // from which a model may be seen
  virtual const RenderOptions& render_options() const = 0;  // of their pictures
  virtual std::string basis() const = 0;                    // of the PSNR: "on 32 held-out photos"
};

// `poll` is called often and may throw to stop. Everything given must outlive the judge.

// By the photos of the scene: those that the run held out, or else all.
std::unique_ptr<Judge> photo_judge(Backend& backend, const Scene& scene, const RenderOptions& render,
                                   bool has_held_out, std::function<void()> poll);

// By pictures of the original model.
std::unique_ptr<Judge> picture_judge(Backend& backend, const Gaussians& original, const RenderOptions& render,
                                     std::function<void()> poll);

}  // namespace stipple
