// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/convert/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/stipple/terminal/standard_files.h"
#include "apps/stipple/terminal/table.h"
#include "apps/stipple/terminal/write_json.h"

namespace stipple {

namespace {

nlohmann::ordered_json to_json(const FileFacts& file) {
  return {{"path", file.path},
          {"format", file.facts.format},
          {"bytes", file.bytes},
          {"gaussians", file.count},
          {"sh_degree", file.sh_degree}};
}

nlohmann::ordered_json to_json(const ViewCost& cost) {  // infinite values become null
  return {{"view", cost.view},
          {"between", cost.between},
          {"original", cost.original},
          {"converted", cost.converted}};
}

}  // namespace

void print_json(const Conversion& conversion) {
  nlohmann::ordered_json out;
  for (const FileFacts& file : conversion.inputs) out["inputs"].push_back(to_json(file));
  out["output"] = to_json(conversion.output);
  out["removed"] = nlohmann::ordered_json::object();
  for (const RemovedGaussians& removed : conversion.removed) {
    std::string reason = removed.reason;
    std::replace(reason.begin(), reason.end(), ' ', '_');
    out["removed"][reason] = removed.count;
  }
  if (conversion.cost) {
    out["psnr"]["scene"] = conversion.scene;
    out["psnr"]["mean"] = to_json(conversion.cost->mean);
    out["psnr"]["mean"].erase("view");
    for (const ViewCost& view : conversion.cost->views) out["psnr"]["views"].push_back(to_json(view));
  }
  write_json(out);
}

void print_text(const Conversion& conversion) {
  std::vector<std::vector<std::string>> rows = {{"file", "format", "bytes", "Gaussians", "SH degree"}};
  const auto add = [&](const FileFacts& file) {
    rows.push_back({file.path, file.facts.format, fmt::format("{}", file.bytes),
                    fmt::format("{}", file.count), fmt::format("{}", file.sh_degree)});
    return file.bytes;
  };
  std::uintmax_t before = 0;
  for (const FileFacts& file : conversion.inputs) before += add(file);
  const std::uintmax_t after = add(conversion.output);
  print_table(rows);
  for (const FileFacts& file : conversion.inputs)
    if (file.facts.frame_is_assumed)
      print("{} does not say its frame; if the result is upside down, give --from-spz-frame rdf\n",
            file.path);
  for (const RemovedGaussians& removed : conversion.removed)
    if (removed.count > 0) print("removed {} Gaussians that are {}\n", removed.count, removed.reason);
  if (before > 0)  // an empty .splat file has no bytes
    print("{}: {:.1f} % of the size before\n", conversion.output.path,
          100 * static_cast<double>(after) / static_cast<double>(before));
  if (conversion.cost) print_cost(*conversion.cost);
}

}  // namespace stipple
