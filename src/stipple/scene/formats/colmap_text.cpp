// SPDX-License-Identifier: Apache-2.0
// cameras.txt, images.txt and points3D.txt, as real exporters write them: with a blank second line per image
// or none, with spaces in names, with "-nan(ind)" for a number. Malformed lines are left out and counted.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/text.h"
#include "stipple/scene/formats/colmap_builder.h"
#include "stipple/scene/formats/colmap_lens.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{256} << 20;  // an image's second line lists its points

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // added to UTF-8 by editors on Windows

// Reads the lines of a file, without comments. The count in "# Number of images: 4" is kept.
class LineReader {
 public:
  explicit LineReader(const fs::path& path) : file_(path), short_name_(path.filename().string()) {}

  // The next line that is not a comment, valid until the next call; none at the end of the file.
  std::optional<std::string_view> next() {
    while (true) {
      if (held_) {
        held_ = false;
        return line_;
      }
      if (!take()) return {};
      if (line_.empty() || line_[0] != '#') return line_;
      note_claim();
    }
  }
  void hold() { held_ = true; }  // next() returns the same line again

  std::string place() const { return fmt::format("{} line {}", short_name_, number_); }
  const std::string& name() const { return file_.name(); }
  std::optional<std::uint64_t> claimed_count() const { return claimed_count_; }
  bool last_line_has_end() const { return last_line_has_end_; }
  const std::string& short_name() const { return short_name_; }

 private:
  bool take() {
    if (file_.remaining_bytes() == 0) return false;
    const std::optional<std::string_view> line = file_.take_line(kMaxLineBytes);
    if (!line && file_.remaining_bytes() > kMaxLineBytes)
      throw Error(fmt::format("{}: line {} is longer than {} MiB; this is not a text file", name(),
                              number_ + 1, kMaxLineBytes >> 20));
    last_line_has_end_ = line.has_value();
    line_ = line ? *line : as_text(file_.take_rest());
    if (++number_ == 1 && line_.starts_with(kByteOrderMark)) line_.remove_prefix(kByteOrderMark.size());
    return true;
  }

  void note_claim() {
    std::string_view rest = line_;
    if (take_word(rest) != "#" || take_word(rest) != "Number" || take_word(rest) != "of") return;
    take_word(rest);  // "images:"
    std::string_view count = take_word(rest);
    if (!count.empty() && count.back() == ',') count.remove_suffix(1);
    std::uint64_t value = 0;
    if (parse_whole(count, value)) claimed_count_ = value;
  }

  InputFile file_;
  std::string short_name_;
  std::string_view line_;
  std::size_t number_ = 0;
  bool held_ = false, last_line_has_end_ = true;
  std::optional<std::uint64_t> claimed_count_;
};

bool is_blank(std::string_view line) { return take_word(line).empty(); }

// Parses the next word as a number. It may be NaN or infinite; ColmapBuilder rejects such entries.
bool take_number(std::string_view& line, double& value) { return parse_number(take_word(line), value); }

template <std::size_t kCount>
bool take_numbers(std::string_view& line, std::array<double, kCount>& values) {
  for (double& v : values)
    if (!take_number(line, v)) return false;
  return true;
}

template <class T>
bool take_whole(std::string_view& line, T& value) {
  return parse_whole(take_word(line), value);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

struct ImageLine {
  std::array<double, 7> pose{};
  std::uint32_t camera_id = 0;
  std::string name;
};

// IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME; the name is the rest of the line, because it may have spaces.
std::optional<ImageLine> parse_image_line(std::string_view line) {
  ImageLine image;
  std::uint64_t id = 0;
  if (!take_whole(line, id) || !take_numbers(line, image.pose) || !take_whole(line, image.camera_id))
    return {};
  image.name = trim(line);
  if (image.name.empty()) return {};
  return image;
}

// Whether a line that should list the points of an image is the next image instead: some exporters omit the
// list. A list of points consists of numbers only.
bool is_another_image(std::string_view line) {
  const std::optional<ImageLine> image = parse_image_line(line);
  double unused = 0;
  std::string_view name = image ? std::string_view(image->name) : std::string_view();
  return image && !parse_number(take_word(name), unused);
}

void note_end(const LineReader& in, std::uint64_t found, ColmapModel& model) {
  if (in.claimed_count() && *in.claimed_count() > found)
    model.short_files.add(
        fmt::format("{} ({} entries expected, {} found)", in.short_name(), *in.claimed_count(), found));
  else if (!in.last_line_has_end())
    model.short_files.add(fmt::format("{} (no newline at the end)", in.short_name()));
}

void read_cameras(const fs::path& folder, ColmapBuilder& builder, ColmapModel& model) {
  LineReader in(folder / "cameras.txt");
  std::uint64_t found = 0;
  while (std::optional<std::string_view> next = in.next()) {
    std::string_view line = *next;
    if (is_blank(line)) continue;
    ++found;
    std::uint32_t id = 0;
    std::array<double, 2> size{};
    const bool has_id = take_whole(line, id);
    const std::string_view name = take_word(line);
    const std::optional<ColmapLensModel> lens_model = find_colmap_lens_model(name);
    if (has_id && !name.empty() && !lens_model) {
      model.unusable_cameras.emplace(
          id,
          fmt::format("camera {}: camera model {} is unknown; undistort the images first, for example with "
                      "\"colmap image_undistorter\"",
                      id, printable(name)));
      continue;
    }
    std::vector<double> parameters(lens_model ? static_cast<std::size_t>(lens_model->parameter_count) : 0);
    bool is_good = has_id && lens_model && take_numbers(line, size);
    for (double& p : parameters) is_good = is_good && take_number(line, p);
    if (is_good)
      builder.add_camera(id, *lens_model, size[0], size[1], parameters);
    else
      model.bad_lines.add(in.place());
  }
  note_end(in, found, model);
}

void read_images(const fs::path& folder, ColmapBuilder& builder, ColmapModel& model) {
  LineReader in(folder / "images.txt");
  std::uint64_t found = 0;
  while (std::optional<std::string_view> line = in.next()) {
    if (is_blank(*line)) continue;
    ++found;
    if (const std::optional<ImageLine> image = parse_image_line(*line))
      builder.add_image(image->name, image->camera_id, image->pose);
    else
      model.bad_lines.add(in.place());
    const std::optional<std::string_view> points = in.next();
    if (points && is_another_image(*points)) in.hold();
  }
  note_end(in, found, model);
}

void read_points(const fs::path& folder, ColmapBuilder& builder, ColmapModel& model) {
  std::error_code error;
  if (!fs::exists(folder / "points3D.txt", error) && !error) return;  // an unreadable file throws below
  LineReader in(folder / "points3D.txt");
  std::uint64_t found = 0;
  while (std::optional<std::string_view> next = in.next()) {
    std::string_view line = *next;
    if (is_blank(line)) continue;
    ++found;
    std::uint64_t id = 0;
    std::array<double, 3> position, color;
    if (take_whole(line, id) && take_numbers(line, position) && take_numbers(line, color))
      builder.add_point(fmt::format("point {}", id), position, color);
    else
      model.bad_lines.add(in.place());
  }
  note_end(in, found, model);
}

}  // namespace

void read_colmap_text(const fs::path& folder, ColmapModel& model) {
  ColmapBuilder builder(model);
  read_cameras(folder, builder, model);
  read_images(folder, builder, model);
  read_points(folder, builder, model);
}

std::size_t count_colmap_text_images(const fs::path& folder) {
  LineReader in(folder / "images.txt");
  std::size_t count = 0;
  while (std::optional<std::string_view> line = in.next()) count += parse_image_line(*line).has_value();
  return count;
}

}  // namespace stipple
