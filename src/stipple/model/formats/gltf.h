// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models in glTF 2.0 with the extension KHR_gaussian_splatting. See docs/formats.md.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "stipple/model/model_file.h"

namespace stipple {

bool is_glb(std::span<const std::byte> head);

// Reads .glb, and .gltf with its buffers in the file or beside it.
Gaussians load_gltf(const std::filesystem::path& path, ModelFacts& facts);

// Writes .glb.
void save_glb(const Gaussians& gaussians, const std::filesystem::path& path, const SaveModelOptions& options);

constexpr const char* kGltfSplatting = "KHR_gaussian_splatting";

// The name of an attribute for coefficient k, 0 to 15.
std::string gltf_harmonic_name(int k);

}  // namespace stipple
