// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/colmap_program.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/stipple/files/create_folder.h"
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
        arguments_(photos, options, work_),
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

  // The option was renamed in version 3.12, which supports features other than SIFT.
  std::string gpu_option(const std::string& command, const std::string& task) const {
    const std::string newer = "--Feature" + task + ".use_gpu";
    bool is_newer = false;
    run_program(program_, {command, "-h"},
                [&](const std::string& line) { is_newer |= line.find(newer) != std::string::npos; });
    return is_newer ? newer : "--Sift" + task + ".use_gpu";
  }

  void find_features() {
    OutputFile list(arguments_.list());
    list.write(photo_list(photos_));
    list.commit();
    const std::string gpu = gpu_option("feature_extractor", "Extraction");
    runner_.require(step("finding features", arguments_.extract(gpu)));
  }

  void match() {
    const std::string gpu = gpu_option(arguments_.matcher(), "Matching");
    runner_.require(step("matching photos", arguments_.match(gpu)));
  }

  // The mapper makes a model of each connected set of photos; the largest becomes the scene.
  fs::path place() {
    create_folder(arguments_.models());
    const Step mapper = step("placing photos", arguments_.map());
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
    Step undistorter = step("undistorting photos", arguments_.undistort(model));
    undistorter.photo_count = static_cast<int>(colmap_image_count(model));
    runner_.require(undistorter);
    move_model(arguments_.undistorted() / "sparse");
    return arguments_.undistorted();
  }

  // COLMAP writes the undistorted model to sparse/, but other programs look for it in sparse/0/.
  static void move_model(const fs::path& sparse) try {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(sparse))
      if (entry.is_regular_file()) files.push_back(entry.path());
    fs::create_directory(sparse / "0");
    for (const fs::path& file : files) fs::rename(file, sparse / "0" / file.filename());
  } catch (const fs::filesystem_error& error) {
    throw Error(fmt::format("cannot use COLMAP's model in {}: {}", sparse.string(), error.code().message()));
  }

  fs::path program_;
  const PhotoFolder& photos_;
  const ColmapOptions& options_;
  fs::path work_;
  ColmapArguments arguments_;
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
