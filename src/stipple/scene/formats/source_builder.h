// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds the scene source of another program's files from their entries, and leaves out and counts those that
// cannot be used.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stipple/scene/formats/camera_frame.h"
#include "stipple/scene/formats/lens_terms.h"
#include "stipple/scene/scene_source.h"

namespace stipple {

// Adds a problem if anything was dropped.
void report(const Dropped& dropped, const char* noun, const char* what, const char* advice,
            std::vector<SceneProblem>& to);
void report_duplicates(const Dropped& duplicates, std::vector<SceneProblem>& to);
void report_unusable_camera(std::size_t image_count, const std::string& why, std::vector<SceneProblem>& to);

class SourceBuilder {
 public:
  struct Image {
    std::string name;    // of the photo
    std::string camera;  // for messages: "sensor 0"
    LensWithTerms lens;
    std::optional<CameraFrame> frame;  // none: the pose is invalid
  };
  void add(Image image);
  void add_point(const std::string& name, Vec3<double> position, std::array<std::uint8_t, 3> color);
  // For an image that is skipped by its program: it was not aligned, or is switched off.
  void add_unposed(std::string name) { unposed_.add(std::move(name)); }
  void add_disabled(std::string name) { disabled_.add(std::move(name)); }
  // For an entry that lacks what every entry must have.
  void add_broken(std::string place) { broken_.add(std::move(place)); }
  void add_broken_point(std::string name) { broken_points_.add(std::move(name)); }
  void add_problem(SceneProblem problem) { problems_.push_back(std::move(problem)); }

  // Reads the points from a .ply in this folder if there is one that is meant (find_points_beside()), and
  // returns what to add to the scene's format.
  std::string add_points_beside(const std::filesystem::path& folder);

  // Coordinates that are too far from the origin for 32-bit numbers are moved, which is a problem to report.
  SceneSource build(std::string format, std::filesystem::path base,
                    std::vector<std::filesystem::path> folders);

 private:
  Vec3<double> far_origin() const;

  std::vector<Image> images_;
  std::set<std::string> names_;
  std::vector<Vec3<double>> positions_;
  std::vector<std::array<std::uint8_t, 3>> colors_;
  std::vector<SceneProblem> problems_;
  std::map<std::string, Dropped> unusable_;  // by the reason
  Dropped broken_, unposed_, disabled_, bad_poses_, twice_, simplified_, broken_points_;
};

}  // namespace stipple
