// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stipple convert does to a model between reading and writing it.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stipple/core/gaussians.h"
#include "stipple/edit/similarity_transform.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct EditFlags {  // as given; empty or 0 means that the model stays as it is
  std::string crop;
  double prune_opacity = 0;
  std::int64_t max_gaussians = 0;
  int sh_degree = 3;
  std::string from_frame = "rdf", frame;
  std::string transform, rotate, translate;
  double scale = 1;
  bool morton = false;
};

void add_edit_flags(CLI::App& command, EditFlags& flags);

// All flags that move the model, as one transform. Throws Error if --transform is not a similarity.
SimilarityTransform transform_of(const EditFlags& flags);

struct RemovedGaussians {
  std::string reason;  // "outside the box"
  std::size_t count;
};

// Applies everything in the order that the help gives. Gaussians are ranked by what the views of the scene
// see of them, if there is one. Throws Error if nothing is left of the model.
std::vector<RemovedGaussians> edit(const EditFlags& flags, const SimilarityTransform& new_from_old,
                                   const Scene* scene, Gaussians& gaussians);

}  // namespace stipple
