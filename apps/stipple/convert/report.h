// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stipple convert prints.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/stipple/convert/cost.h"
#include "apps/stipple/convert/edits.h"
#include "stipple/model/model_file.h"

namespace stipple {

struct FileFacts {
  std::string path;
  ModelFacts facts;
  std::uintmax_t bytes = 0;
  std::size_t count = 0;
  int sh_degree = 0;
};

struct Conversion {
  std::vector<FileFacts> inputs;
  FileFacts output;
  std::vector<RemovedGaussians> removed;
  std::string scene;  // of the cost
  std::optional<ConversionCost> cost;
};

void print_text(const Conversion& conversion);
void print_json(const Conversion& conversion);

}  // namespace stipple
