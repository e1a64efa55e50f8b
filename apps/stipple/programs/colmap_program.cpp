// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/colmap_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/stipple/programs/process.h"
#include "apps/stipple/terminal/message.h"
#include "stipple/core/error.h"
#include "stipple/io/output_file.h"
#include "stipple/scene/formats/colmap.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMinPlacedCount = 3;
constexpr double kFewPlaced = 0.8;  // share of the photos; a smaller one causes a warning

class ColmapRun {
 public:
  ColmapRun(fs::path program, const PhotoFolder& photos, const ColmapOptions& options, fs::path work,
            StepRunner& runner)
      : program_(std::move(program)),
        photos_(photos),
        options_(options),
        work_(std::move(work)),
        runner_(runner) {}

  fs::path run() {
    find_features();
    match();
    return undistort(place());
  }

 private:
  Step step(std::string activity, std::vector<std::string> arguments) const {
    return {std::move(activity), program_, std::move(arguments), static_cast<int>(photos_.names.size())};
  }

  std::string help(const std::string& command) const {
    std::string text;
    run_program(program_, {command, "-h"}, [&](const std::string& line) { text += line + '\n'; });
    return text;
  }

  // The option was renamed in version 3.12, which supports features other than SIFT.
  std::string gpu_option(const std::string& command, const std::string& task) const {
    const std::string newer = "--Feature" + task + ".use_gpu";
    return help(command).find(newer) != std::string::npos ? newer : "--Sift" + task + ".use_gpu";
  }

  std::string sharing_option() const {
    switch (options_.sharing) {
      case CameraSharing::kAll:
        return "--ImageReader.single_camera";
      case CameraSharing::kFolder:
        return "--ImageReader.single_camera_per_folder";
      case CameraSharing::kNone:
        break;
    }
    return "--ImageReader.single_camera_per_image";
  }

  // Without the list, COLMAP would fail on other files in the folder.
  fs::path write_list() const {
    const fs::path path = work_ / "photos.txt";
    OutputFile file(path);
    for (const fs::path& name : photos_.names) file.write(name.generic_string() + '\n');
    file.commit();
    return path;
  }

  void find_features() {
    runner_.require(step("finding features",
                         {"feature_extractor", "--database_path", database(), "--image_path", photos_.path,
                          "--image_list_path", write_list(), "--ImageReader.camera_model",
                          options_.camera_model, sharing_option(), "1",
                          gpu_option("feature_extractor", "Extraction"), options_.use_gpu ? "1" : "0"}));
  }

  void match() {
    const std::string command = options_.is_sequence ? "sequential_matcher" : "exhaustive_matcher";
    std::vector<std::string> arguments = {command, "--database_path", database(),
                                          gpu_option(command, "Matching"), options_.use_gpu ? "1" : "0"};
    if (!options_.is_sequence) {
      // With the default of 50 photos per block, small sets would show no progress. Blocks of fewer than 10
      // photos would not keep all cores busy.
      const std::size_t size = std::clamp<std::size_t>(photos_.names.size() / 5, 10, 50);
      arguments.insert(arguments.end(), {"--ExhaustiveMatching.block_size", std::to_string(size)});
    }
    runner_.require(step("matching photos", arguments));
  }

  // The mapper makes a model of each connected set of photos; the largest becomes the scene.
  fs::path place() {
    const fs::path folder = work_ / "sparse";
    fs::create_directory(folder);
    const Step mapper = step("placing photos", {"mapper", "--database_path", database(), "--image_path",
                                                photos_.path, "--output_path", folder});
    const StepEnd end = runner_.run(mapper);
    // A mapper that found no sparse model has not failed; check_placed() reports it.
    const bool found_nothing = end.message.find("sparse model") != std::string::npos;
    if (end.status != 0 && !found_nothing) runner_.fail(mapper, end);
    const std::vector<fs::path> models = find_colmap_models(work_);
    const auto largest = std::max_element(
        models.begin(), models.end(),
        [](const fs::path& a, const fs::path& b) { return colmap_image_count(a) < colmap_image_count(b); });
    check_placed(largest == models.end() ? 0 : colmap_image_count(*largest));
    return *largest;
  }

  void check_placed(std::size_t count) const {
    const std::string message =
        fmt::format("COLMAP could place only {} of {} photos; {}", count, photos_.names.size(), advice());
    if (count < kMinPlacedCount) throw Error(message);
    if (static_cast<double>(count) < kFewPlaced * static_cast<double>(photos_.names.size()))
      print_warning(message);
  }

  std::string advice() const {
    return options_.is_sequence ? "use more photos or frames, so that neighbouring ones overlap more"
                                : "take more, so that neighbouring ones overlap more; for photos that were "
                                  "taken along a walk, "
                                  "try --sequential";
  }

  fs::path undistort(const fs::path& model) {
    const fs::path folder = work_ / "undistorted";
    Step undistorter =
        step("undistorting photos", {"image_undistorter", "--image_path", photos_.path, "--input_path", model,
                                     "--output_path", folder, "--output_type", "COLMAP"});
    undistorter.photo_count = static_cast<int>(colmap_image_count(model));
    runner_.require(undistorter);
    move_model(folder / "sparse");
    return folder;
  }

  // COLMAP writes the undistorted model to sparse/, but other programs look for it in sparse/0/.
  static void move_model(const fs::path& sparse) {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(sparse))
      if (entry.is_regular_file()) files.push_back(entry.path());
    fs::create_directory(sparse / "0");
    for (const fs::path& file : files) fs::rename(file, sparse / "0" / file.filename());
  }

  std::string database() const { return work_ / "database.db"; }

  fs::path program_;
  const PhotoFolder& photos_;
  const ColmapOptions& options_;
  fs::path work_;
  StepRunner& runner_;
};

}  // namespace

fs::path find_colmap() {
  const fs::path program = find_program("colmap");
  if (program.empty())
    throw Error(
        "COLMAP is not installed; install it (Debian, Ubuntu: sudo apt install colmap; macOS: brew install "
        "colmap) and try again");
  return program;
}

fs::path run_colmap(const fs::path& program, const PhotoFolder& photos, const ColmapOptions& options,
                    const fs::path& work, StepRunner& runner) {
  return ColmapRun(program, photos, options, work, runner).run();
}

}  // namespace stipple
