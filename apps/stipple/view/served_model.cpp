// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/served_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/ply/ply_header.h"
#include "stipple/model/formats/spz.h"
#include "stipple/model/sog/sog.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr const char *kSpz = "spz", *kSog = "sog";
constexpr std::size_t kPartBytes = std::size_t{1} << 20;

// Whether Spark reads this .ply as it is meant: all columns as floats in little-endian order.
bool is_usual_ply(const fs::path& file) {
  InputFile input(file);
  const PlyHeader header = read_ply_header(input);
  if (header.format != PlyFormat::kBinaryLittleEndian || header.elements.size() != 1) return false;
  const std::vector<PlyProperty>& properties = header.elements.front().properties;
  const auto is_float = [](const PlyProperty& p) { return p.type == PlyType::kFloat32 && !p.length_type; };
  const auto is_third_scale = [](const PlyProperty& p) { return p.name == "scale_2"; };
  return std::all_of(properties.begin(), properties.end(), is_float) &&
         std::any_of(properties.begin(), properties.end(), is_third_scale);  // flat Gaussians have none
}

bool starts_with(const fs::path& file, std::string_view start) {
  InputFile input(file, start.size());
  return as_text(input.peek(start.size())).starts_with(start);
}

// What the page calls the format of a file that it reads as it is.
std::optional<std::string> format_for_page(const fs::path& file, const ModelFacts& facts) {
  if (facts.format == "3DGS .ply" && is_usual_ply(file)) return "ply";
  if (facts.format == "compressed .ply") return "compressed.ply";
  if (facts.format == ".splat") return "splat";
  if (facts.format == ".ksplat") return "ksplat";
  // Neither version 4 nor another frame: Spark does not know these.
  if (facts.format == "SPZ version 2" || facts.format == "SPZ version 3")
    return facts.frame_is_assumed ? std::optional(kSpz) : std::nullopt;
  if (facts.format.starts_with("SOG") && starts_with(file, "PK")) return kSog;  // not loose files
  return {};
}

bool would_shrink(const std::string& format) { return format == "ply" || format == "compressed.ply"; }

// Keeps what `write` hands over.
SharedBytes collected(const std::function<void(const ByteSink&)>& write) {
  std::vector<std::byte> bytes;
  write([&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
  bytes.shrink_to_fit();
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

}  // namespace

SharedBytes spz_for_browsers(const Gaussians& gaussians, bool antialiased) {
  return collected(
      [&](const ByteSink& sink) { write_spz(gaussians, "model", {.antialiased = antialiased}, sink); });
}

std::unique_ptr<ServedModel> ServedModel::of_file(const fs::path& file, const ModelFacts& facts,
                                                  std::uint64_t most_bytes) {
  const std::optional<std::string> format = format_for_page(file, facts);
  if (!format || (would_shrink(*format) && fs::file_size(file) > most_bytes)) return nullptr;
  auto served = std::make_unique<ServedModel>();
  served->file_ = file;
  served->format_ = *format;
  served->size_bytes_ = fs::file_size(file);
  return served;
}

std::unique_ptr<ServedModel> ServedModel::of_bytes(std::string format, SharedBytes bytes) {
  auto served = std::make_unique<ServedModel>();
  served->format_ = std::move(format);
  served->size_bytes_ = bytes->size();
  served->made_ = std::move(bytes);
  return served;
}

std::unique_ptr<ServedModel> ServedModel::converted(const Gaussians& gaussians, bool antialiased) {
  return of_bytes(kSpz, spz_for_browsers(gaussians, antialiased));
}

std::unique_ptr<ServedModel> ServedModel::as_sog(const Gaussians& gaussians, const std::string& name,
                                                 bool antialiased) {
  return of_bytes(kSog, collected([&](const ByteSink& sink) {
                    write_sog(gaussians, name, {.antialiased = antialiased}, sink);
                  }));
}

void ServedModel::read(std::size_t part_bytes, const ByteSink& sink) const {
  if (made_) {
    for (std::span<const std::byte> rest = *made_; !rest.empty();) {
      const std::span<const std::byte> part = rest.first(std::min(part_bytes, rest.size()));
      sink(part);
      rest = rest.subspan(part.size());
    }
    return;
  }
  InputFile input(file_);
  if (input.remaining_bytes() != size_bytes_)
    throw Error(fmt::format("{}: the file has changed meanwhile; start the command again", file_.string()));
  while (input.remaining_bytes() > 0) sink(input.take(part_bytes));
}

HttpResponse ServedModel::respond() {
  HttpResponse response{.content_type = "application/octet-stream", .body = made_, .is_constant = true};
  if (made_) return response;
  const std::lock_guard lock(mutex_);
  response.body = read_.lock();
  if (response.body) return response;
  std::vector<std::byte> bytes;
  bytes.reserve(size_bytes_);
  read(kPartBytes,
       [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
  response.body = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  read_ = response.body;
  return response;
}

}  // namespace stipple
