// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scenes as other programs write them. find_*() looks for one in a folder, and read_*() reads the file that
// it found, or that the user named. Each reader leaves out broken entries and reports them; it throws Error
// if the file as a whole is not what it should be. docs/formats.md describes the formats.
#include <filesystem>
#include <optional>

#include "stipple/scene/scene_source.h"

namespace stipple {

// Metashape: the .xml file that "Export Cameras" writes.
std::optional<std::filesystem::path> find_metashape(const std::filesystem::path& folder);
SceneSource read_metashape(const std::filesystem::path& file);

// RealityCapture and RealityScan: the .csv file "Internal/External camera parameters".
std::optional<std::filesystem::path> find_realitycapture(const std::filesystem::path& folder);
SceneSource read_realitycapture(const std::filesystem::path& file);

// OpenSfM and ODM: reconstruction.json.
std::optional<std::filesystem::path> find_opensfm(const std::filesystem::path& folder);
SceneSource read_opensfm(const std::filesystem::path& file);

// OpenMVG: sfm_data.json.
std::optional<std::filesystem::path> find_openmvg(const std::filesystem::path& folder);
SceneSource read_openmvg(const std::filesystem::path& file);

// Polycam: the folder with a .json file per photo, in keyframes.
std::optional<std::filesystem::path> find_polycam(const std::filesystem::path& folder);
SceneSource read_polycam(const std::filesystem::path& cameras);

}  // namespace stipple
