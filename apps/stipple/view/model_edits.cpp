// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/model_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "stipple/core/byte_text.h"
#include "stipple/core/error.h"
#include "stipple/edit/rows_to_keep.h"
#include "stipple/io/base64.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json_fields.h"
#include "stipple/model/model_file.h"

namespace stipple {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxNameBytes = 200;  // what writes the file adds an ending to it; systems take 255

bool is_control(unsigned char c) { return c < ' ' || c == 0x7f; }

std::vector<std::uint32_t> rows_not_removed(const std::vector<std::byte>& removed, std::size_t count) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < count; ++i)
    if ((removed[i / 8] >> (i % 8) & std::byte{1}) == std::byte{0})
      rows.push_back(static_cast<std::uint32_t>(i));
  return rows;
}

}  // namespace

ModelEdits parse_edits(std::string_view request) {
  const json object = parse_json(request);
  const JsonFields fields(object, "the edits");
  ModelEdits edits;
  if (!fields.value("name").is_string()) fields.fail("name", "must be a string");
  edits.name = bytes_from_utf8(fields.value("name").get<std::string>());
  edits.overwrites = fields.has("overwrite") && fields.flag("overwrite");
  if (fields.has("removed") && !fields.value("removed").is_null()) {
    const json& bits = fields.value("removed");
    auto bytes = bits.is_string() ? decode_base64(bits.get_ref<const std::string&>()) : std::nullopt;
    if (!bytes) fields.fail("removed", "must be base64");
    edits.removed = *std::move(bytes);
  }
  if (fields.has("crop") && !fields.value("crop").is_null())
    for (const json& number : fields.list("crop")) {
      if (!number.is_number()) fields.fail("crop", "must be numbers");
      edits.crop.push_back(number.get<double>());
    }
  return edits;
}

void check_edited_name(const std::string& name, bool is_in_run) {
  if (name.empty() || name.front() == '.' || name.find_first_of("/\\:") != std::string::npos ||
      std::any_of(name.begin(), name.end(), is_control))
    throw Error(fmt::format("'{}' is not the name of a file; use one such as edited.ply", printable(name)));
  if (name.size() > kMaxNameBytes)
    throw Error(fmt::format("the name '{}' is too long; use one such as edited.ply", printable(name)));
  check_model_name(name);
  if (std::filesystem::path(name).extension() == ".json")
    throw Error(fmt::format("{} would be one of many files; use a name that ends in .sog or .lod", name));
  if (is_in_run && name == "model.ply")
    throw Error("model.ply is the model of the run, which is not overwritten; use another name");
}

std::vector<std::uint32_t> rows_left(const ModelEdits& edits, const Gaussians& gaussians) {
  const std::size_t count = gaussians.size();
  if (!edits.removed.empty() && edits.removed.size() != (count + 7) / 8)
    throw Error(fmt::format("\"removed\" has {} bytes, but {} Gaussians need {}", edits.removed.size(), count,
                            (count + 7) / 8));
  const std::vector<std::byte> none((count + 7) / 8);
  std::vector<std::uint32_t> rows = rows_not_removed(edits.removed.empty() ? none : edits.removed, count);
  if (edits.crop.empty()) return rows;
  const std::vector<std::uint32_t> inside = rows_in(crop_box(edits.crop), gaussians);
  std::vector<std::uint32_t> both;
  std::set_intersection(rows.begin(), rows.end(), inside.begin(), inside.end(), std::back_inserter(both));
  return both;
}

}  // namespace stipple
