// SPDX-License-Identifier: Apache-2.0
#pragma once
// The arguments of COLMAP and its list of photos. All paths are absolute, so that COLMAP takes none for an
// option.
#include <filesystem>
#include <string>
#include <vector>

#include "apps/stipple/programs/photo_folder.h"

namespace stipple {

struct ColmapOptions {
  std::string camera_model = "OPENCV";
  CameraSharing sharing = CameraSharing::kAll;
  bool is_sequence = false;  // photos overlap only with those shortly before and after them
  bool use_gpu = false;      // Debian's COLMAP does not support it
};

// The names of the photos as COLMAP reads them, one per line. Throws Error if it would read a name as
// another.
std::string photo_list(const PhotoFolder& photos);

// One function per step. The names of the options for the GPU depend on COLMAP's version.
class ColmapArguments {
 public:
  // COLMAP writes to the folder `work`.
  ColmapArguments(const PhotoFolder& photos, const ColmapOptions& options, const std::filesystem::path& work);

  std::string matcher() const;  // the name of the step
  std::vector<std::string> extract(const std::string& gpu_option) const;
  std::vector<std::string> match(const std::string& gpu_option) const;
  std::vector<std::string> map() const;
  std::vector<std::string> undistort(const std::filesystem::path& model) const;

  std::filesystem::path list() const { return work_ / "photos.txt"; }
  std::filesystem::path models() const { return work_ / "sparse"; }
  std::filesystem::path undistorted() const { return work_ / "undistorted"; }

 private:
  std::filesystem::path photos_, work_;
  std::size_t photo_count_;
  ColmapOptions options_;
};

}  // namespace stipple
