// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Models as files of any format that Stipple knows (docs/formats.md).
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "stipple/core/gaussians.h"

namespace stipple {

// What a file says about a model besides its Gaussians.
struct ModelFacts {
  std::string format;    // for people: "3DGS .ply"
  std::string left_out;  // what the file has and Gaussians do not, for people; empty if nothing
  std::optional<bool>
      antialiased;  // whether the model was trained for antialiased rendering, if the file says so
  bool frame_is_assumed = false;  // the format has files in several frames, and this one does not say its own
};

// The frames of .spz files, by the directions of x, y and z: rub (right, up, back) is that of the format;
// others write the frame of a .ply, rdf (right, down, front), and often do not say so.
enum class SpzFrame { kRub, kRdf };

struct LoadModelOptions {
  SpzFrame spz_frame = SpzFrame::kRub;  // of .spz files that do not say it
};

// Reads a model. The format follows from the content, or from the name if that does not decide or is that of
// a format which cannot be told from its content (.splat, .ksplat). Values are returned in the conventions of
// Gaussians, whatever frame or scale the format has. A malformed file is an Error that names the file and the
// problem; memory is never allocated for more than a file can contain.
Gaussians load_model(const std::filesystem::path& path, ModelFacts* facts = nullptr,
                     const LoadModelOptions& options = {});

// Whether a model has levels of detail, of which viewers load what they need (streamed SOG). `path` is a
// file. Throws what load_model() would throw because of the format.
bool is_streamed(const std::filesystem::path& path);

struct SaveModelOptions {
  bool antialiased = false;  // noted in the file, if the format has a place for it
  int spz_version = 3;       // 2, 3 or 4; few programs read version 4
  SpzFrame spz_frame = SpzFrame::kRub;
  // Of streamed SOG: the levels of detail, each with half as many Gaussians as the one before; 0 for so many
  // that the coarsest has at most a million, and at least two. And the Gaussians in a file.
  int lod_levels = 0;
  std::size_t lod_chunk = 512 * 1024;
};

// Writes a model in the format that the name tells, such as "garden.ply". Throws Error if there is no such
// format, or if it cannot hold the model.
void save_model(const Gaussians& gaussians, const std::filesystem::path& path,
                const SaveModelOptions& options = {});

// The usual endings of the names of all formats, or of those that can be written: ".ply, .spz".
std::string model_endings(bool only_written);

// The file that stands for the model in a folder, such as the meta.json of an SOG that is not packed into one
// file; nothing if the folder has none.
std::optional<std::filesystem::path> model_in_folder(const std::filesystem::path& folder);

// The size of a model: of its file, or if it is a folder or the file that stands for one, of all its files.
std::uintmax_t model_bytes(const std::filesystem::path& path);

// Throws what save_model() would throw because of the name alone. Call it before a long computation. Returns
// the format, as in ModelFacts but without a version: "SPZ".
std::string_view check_model_name(const std::filesystem::path& path);

// The same, and also if the file or folder cannot be written at present. Changes nothing.
void check_model_output(const std::filesystem::path& path);

// The file that stands for a model: that in a folder with a model (lod-meta.json or meta.json), also if there
// is none yet but the name is that of such a folder ("garden.lod"); otherwise the path itself.
std::filesystem::path main_file(const std::filesystem::path& path);

}  // namespace stipple
