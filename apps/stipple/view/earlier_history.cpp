// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/earlier_history.h"

#include <sstream>

#include "stipple/io/input_file.h"
#include "stipple/io/json.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

bool has_numbers(const json& object, std::initializer_list<const char*> fields) {
  if (!object.is_object()) return false;
  for (const char* field : fields)
    if (const auto found = object.find(field); found == object.end() || !found->is_number()) return false;
  return true;
}

std::string text_of(const fs::path& path) { return fs::exists(path) ? read_text(path) : ""; }

}  // namespace

RunHistory earlier_history(const fs::path& folder, int last_step) {
  RunHistory history;
  if (last_step == 0) return history;
  std::istringstream log(text_of(folder / "log.jsonl"));
  for (std::string text; std::getline(log, text);) {
    const json line = parse_json(text);
    if (!has_numbers(line, {"step", "seconds", "loss", "psnr", "gaussians"}) || line["step"] > last_step)
      continue;
    history.training.add_point(
        {line["step"], line["seconds"], line["loss"], line["psnr"], line["gaussians"]});
  }
  const json metrics = parse_json(text_of(folder / "metrics.json"));
  if (!metrics.is_object() || !metrics.contains("evaluations")) return history;
  for (const json& e : metrics["evaluations"])
    if (has_numbers(e, {"step", "psnr", "ssim", "gaussians"}) && e["step"] <= last_step)
      history.add({e["step"], e["psnr"], e["ssim"], e["gaussians"]});
  return history;
}

}  // namespace stipple
