// SPDX-License-Identifier: Apache-2.0
// cameras.bin, images.bin and points3D.bin: little-endian numbers without padding.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "stipple/core/error.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/input_file.h"
#include "stipple/scene/formats/colmap_builder.h"
#include "stipple/scene/formats/colmap_lens.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxNameBytes = 4096;

// One of the three files: a count, followed by that many entries.
class EntryReader {
 public:
  EntryReader(const fs::path& path, const char* entry, std::size_t min_entry_bytes)
      : file_(path), entry_(entry) {
    count_ = number<std::uint64_t>();
    if (count_ > file_.remaining_bytes() / min_entry_bytes)
      throw Error(
          fmt::format("{}: the file claims {} {}s but is large enough for at most {}; it is truncated or "
                      "not a COLMAP file",
                      file_.name(), count_, entry_, file_.remaining_bytes() / min_entry_bytes));
  }

  std::uint64_t count() const { return count_; }
  const std::string& name() const { return file_.name(); }
  void next_entry() { ++index_; }

  template <class T>
  T number() {
    const std::span<const std::byte> bytes = file_.take(sizeof(T));
    if (bytes.size() < sizeof(T)) fail_cut();
    return load_number<T>(bytes.data(), std::endian::native == std::endian::big);
  }

  template <std::size_t kCount>
  std::array<double, kCount> doubles() {
    std::array<double, kCount> values;
    for (double& v : values) v = number<double>();
    return values;
  }

  std::string text() {  // zero-terminated
    std::string text;
    while (char c = number<char>()) {
      text.push_back(c);
      if (text.size() > kMaxNameBytes)
        throw Error(fmt::format("{}: the name of {} {} is longer than {} bytes; this is not a COLMAP file",
                                name(), entry_, index_, kMaxNameBytes));
    }
    return text;
  }

  void skip(std::uint64_t count, std::uint64_t bytes_each) {
    if (count > file_.remaining_bytes() / bytes_each) fail_cut();
    file_.skip(count * bytes_each);
  }

 private:
  [[noreturn]] void fail_cut() const {
    throw Error(index_ == 0 ? fmt::format("{}: the file is truncated; copy or export it again", name())
                            : fmt::format("{}: the file is truncated in {} {} of {}; copy or export it again",
                                          name(), entry_, index_, count_));
  }

  InputFile file_;
  const char* entry_;
  std::uint64_t count_ = 0, index_ = 0;  // index_ counts from 1; 0 is the header
};

EntryReader open_images(const fs::path& folder) {
  return EntryReader(folder / "images.bin", "image", 4 + 7 * 8 + 4 + 1 + 8);
}

void read_cameras(const fs::path& folder, ColmapBuilder& builder) {
  EntryReader in(folder / "cameras.bin", "camera", 4 + 4 + 8 + 8);
  std::vector<double> parameters;
  for (std::uint64_t i = 0; i < in.count(); ++i) {
    in.next_entry();
    const auto id = in.number<std::uint32_t>();
    const auto model_id = in.number<std::int32_t>();
    const auto width = static_cast<double>(in.number<std::uint64_t>());
    const auto height = static_cast<double>(in.number<std::uint64_t>());
    const std::optional<ColmapLensModel> model = find_colmap_lens_model(model_id);
    if (!model)  // the length of its entry is unknown
      throw Error(
          fmt::format("{}: camera {} has the unknown camera model {}; undistort the images first, for "
                      "example with \"colmap image_undistorter\"",
                      in.name(), id, model_id));
    parameters.resize(static_cast<std::size_t>(model->parameter_count));
    for (double& p : parameters) p = in.number<double>();
    builder.add_camera(id, *model, width, height, parameters);
  }
}

void read_images(const fs::path& folder, ColmapBuilder& builder) {
  EntryReader in = open_images(folder);
  for (std::uint64_t i = 0; i < in.count(); ++i) {
    in.next_entry();
    in.number<std::uint32_t>();  // image id
    const auto pose = in.doubles<7>();
    const auto camera_id = in.number<std::uint32_t>();
    const std::string name = in.text();
    in.skip(in.number<std::uint64_t>(), 8 + 8 + 8);  // its 2D points
    builder.add_image(name, camera_id, pose);
  }
}

void read_points(const fs::path& folder, ColmapBuilder& builder) {
  const fs::path path = folder / "points3D.bin";
  std::error_code error;
  if (!fs::exists(path, error) && !error) return;  // an unreadable file throws below
  EntryReader in(path, "point", 8 + 3 * 8 + 3 + 8 + 8);
  for (std::uint64_t i = 0; i < in.count(); ++i) {
    in.next_entry();
    const auto id = in.number<std::uint64_t>();
    const auto position = in.doubles<3>();
    std::array<double, 3> color;
    for (double& c : color) c = in.number<std::uint8_t>();
    in.number<double>();                         // reprojection error
    in.skip(in.number<std::uint64_t>(), 4 + 4);  // track
    builder.add_point(fmt::format("point {}", id), position, color);
  }
}

}  // namespace

void read_colmap_binary(const fs::path& folder, ColmapModel& model) {
  ColmapBuilder builder(model);
  read_cameras(folder, builder);
  read_images(folder, builder);
  read_points(folder, builder);
}

std::size_t count_colmap_binary_images(const fs::path& folder) { return open_images(folder).count(); }

}  // namespace stipple
