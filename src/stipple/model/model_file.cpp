// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "stipple/core/error.h"
#include "stipple/edit/flip_axes.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"
#include "stipple/io/ply/ply.h"
#include "stipple/io/ply/ply_header.h"
#include "stipple/model/formats/compressed_ply.h"
#include "stipple/model/formats/gltf.h"
#include "stipple/model/formats/ksplat.h"
#include "stipple/model/formats/ply_comments.h"
#include "stipple/model/formats/splat.h"
#include "stipple/model/formats/spz.h"
#include "stipple/model/model_format.h"
#include "stipple/model/sog/lod.h"
#include "stipple/model/sog/sog.h"

namespace stipple {

namespace {

constexpr std::size_t kHeadBytes = std::size_t{1} << 16;  // a .ply may start with long comments

bool is_folder(const std::filesystem::path& path) {
  return type_of(path) == std::filesystem::file_type::directory;
}

bool is_ply(std::span<const std::byte> head) { return as_text(head).starts_with("ply"); }

Gaussians load_plain_ply(const std::filesystem::path& path, ModelFacts& facts) {
  facts.format = "3DGS .ply";
  InputFile file(path, kHeadBytes);
  facts.antialiased = antialiased_in(read_ply_header(file).comments);
  return load_ply(path);
}

void save_plain_ply(const Gaussians& gaussians, const std::filesystem::path& path,
                    const SaveModelOptions& options) {
  save_ply(gaussians, path, options.antialiased ? kAntialiasedComment : "");
}

constexpr std::string_view kCompressedPlyEndings[] = {".compressed.ply"};
constexpr std::string_view kKsplatEndings[] = {".ksplat"};
constexpr std::string_view kPlyEndings[] = {".ply"};
constexpr std::string_view kSplatEndings[] = {".splat"};
constexpr std::string_view kSpzEndings[] = {".spz"};
constexpr std::string_view kLodEndings[] = {".lod", "lod-meta.json"};  // of a folder
constexpr std::string_view kSogEndings[] = {".sog", "meta.json"};
constexpr std::string_view kGlbEndings[] = {".glb"};
constexpr std::string_view kGltfEndings[] = {".gltf"};

// A file has the first of these formats that recognises its content, and its name has the first one whose
// ending fits.
constexpr ModelFormat kFormats[] = {
    {"compressed .ply", kCompressedPlyEndings, is_compressed_ply, load_compressed_ply, save_compressed_ply},
    {"3DGS .ply", kPlyEndings, is_ply, load_plain_ply, save_plain_ply},
    {".splat", kSplatEndings, nullptr, load_splat, save_splat},
    {".ksplat", kKsplatEndings, nullptr, load_ksplat, nullptr},
    {"SPZ", kSpzEndings, is_spz, load_spz, save_spz},
    {"streamed SOG", kLodEndings, is_lod, load_lod, save_lod},
    {"SOG", kSogEndings, is_sog, load_sog, save_sog},
    {"glTF", kGlbEndings, is_glb, load_gltf, save_glb},
    {"glTF", kGltfEndings, nullptr, load_gltf, nullptr},
};

bool has_ending(const std::filesystem::path& path, const ModelFormat& format) {
  std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();  // "a.lod/"
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(format.endings.begin(), format.endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

const ModelFormat* format_of_name(const std::filesystem::path& path) {
  const auto found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                  [&](const ModelFormat& format) { return has_ending(path, format); });
  return found == std::end(kFormats) ? nullptr : found;
}

const ModelFormat* format_of_content(const std::filesystem::path& path) {
  InputFile file(path, kHeadBytes);
  const std::span<const std::byte> head = file.peek(kHeadBytes);
  const auto found = std::find_if(std::begin(kFormats), std::end(kFormats), [&](const ModelFormat& format) {
    return format.is_format != nullptr && format.is_format(head);
  });
  return found == std::end(kFormats) ? nullptr : found;
}

const ModelFormat& format_to_read(const std::filesystem::path& path) {
  const ModelFormat* format = format_of_name(path);
  // A format without a mark of its own (.splat, .ksplat) may start with any bytes, also those of others.
  if (format == nullptr || format->is_format != nullptr)
    if (const ModelFormat* recognised = format_of_content(path)) format = recognised;
  if (format == nullptr)
    throw Error(
        fmt::format("{}: this is not a model in a known format ({})", path.string(), model_endings(false)));
  return *format;
}

std::filesystem::path file_of_folder(const std::filesystem::path& folder) {
  if (auto file = model_in_folder(folder)) return *std::move(file);
  throw Error(fmt::format(
      "{}: a folder with a model has a lod-meta.json or a meta.json, but this one has neither; give "
      "the name of a file",
      folder.string()));
}

const ModelFormat& format_to_write(const std::filesystem::path& path) {
  const ModelFormat* format = format_of_name(path);
  if (format == nullptr)
    throw Error(
        fmt::format("{}: the name of a model must end in one of {}", path.string(), model_endings(true)));
  if (format->save == nullptr)
    throw Error(fmt::format("{}: the format {} can be read, but not written; use one of {}", path.string(),
                            format->name, model_endings(true)));
  return *format;
}

}  // namespace

std::optional<std::filesystem::path> model_in_folder(const std::filesystem::path& folder) {
  for (const char* name : {"lod-meta.json", "meta.json"})
    if (type_of(folder / name) == std::filesystem::file_type::regular) return folder / name;
  return {};
}

Gaussians load_model(const std::filesystem::path& given, ModelFacts* facts, const LoadModelOptions& options) {
  const std::filesystem::path path = is_folder(given) ? file_of_folder(given) : given;
  ModelFacts found;
  Gaussians gaussians = format_to_read(path).load(path, found);
  // Readers assume rub and have flipped the model: flipping it back restores what the file has.
  if (found.frame_is_assumed && options.spz_frame == SpzFrame::kRdf)
    flip_axes(AxisFlip(false, true, true), gaussians);
  if (facts != nullptr) *facts = std::move(found);
  return gaussians;
}

bool is_streamed(const std::filesystem::path& path) { return format_to_read(path).load == load_lod; }

void save_model(const Gaussians& gaussians, const std::filesystem::path& path,
                const SaveModelOptions& options) {
  format_to_write(path).save(gaussians, path, options);
}

std::string model_endings(bool only_written) {
  std::string list;
  for (const ModelFormat& format : kFormats) {
    if (only_written && format.save == nullptr) continue;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", format.endings.front());
  }
  return list;
}

std::string_view check_model_name(const std::filesystem::path& path) { return format_to_write(path).name; }

std::filesystem::path main_file(const std::filesystem::path& path) {
  if (is_folder(path))
    if (auto file = model_in_folder(path)) return *std::move(file);
  const ModelFormat* format = format_of_name(path);
  return format != nullptr && format->save == save_lod ? lod_meta_path(path) : path;
}

void check_model_output(const std::filesystem::path& path) {
  check_model_name(path);
  std::filesystem::path target = main_file(path);
  // The folders of these formats are created.
  if (target.extension() == ".json")
    while (target.has_parent_path() && type_of(target.parent_path()) == std::filesystem::file_type::not_found)
      target = target.parent_path();
  OutputFile::check(target);
}

std::uintmax_t model_bytes(const std::filesystem::path& path) {
  const std::filesystem::path file = main_file(path);
  const ModelFormat* format = format_of_content(file);
  if (format != nullptr && format->load == load_lod) return lod_bytes(file);
  if (format != nullptr && format->load == load_sog) return sog_bytes(file);
  return bytes_of_file(file);
}

}  // namespace stipple
