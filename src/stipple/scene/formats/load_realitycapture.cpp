// SPDX-License-Identifier: Apache-2.0
// RealityCapture's and RealityScan's list of cameras: a line for each photo, below a line with the names of
// the columns. Positions are x, y, alt. The rotation of world_from_camera, with the camera's axes x right, y
// up, looking along -z, is Rz(-heading) Rx(pitch) Ry(roll), in degrees: heading is clockwise from the y axis,
// and a camera with pitch 0 looks straight down. f is the focal length for a film 36 mm wide; px and py are
// the principal point relative to the middle of the photo, as fractions of its longer side. k1 to k4, t1 and
// t2 are Brown's terms; t1 and t2 are OpenCV's p1 and p2. The size of the photos is not in the file.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/text.h"
#include "stipple/scene/formats/csv_line.h"
#include "stipple/scene/formats/files_with_extension.h"
#include "stipple/scene/formats/source_builder.h"
#include "stipple/scene/formats/tools.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRequired[] = {"name", "x", "y", "alt", "heading", "pitch", "roll", "f"};
constexpr double kFilmWidth_mm = 36;
constexpr double kCornerOfFilm = 0.6;  // its distance from the middle of a photo of 3:2, in longer sides
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 16;

struct Table {
  char separator = ',';
  std::map<std::string, std::size_t> column_from_name;
};

// "#name" or " Heading" as "name" or "heading".
std::string column_name(std::string text) {
  std::erase_if(text, [](char c) { return is_space(c) || c == '#'; });
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Reads the line of column names; none if it is another line.
std::optional<Table> read_header(std::string_view line) {
  for (const char separator : {',', ';', '\t'}) {
    Table table{separator, {}};
    const std::vector<std::string> fields = split_csv_line(line, separator);
    for (std::size_t i = 0; i < fields.size(); ++i) table.column_from_name.emplace(column_name(fields[i]), i);
    if (std::ranges::all_of(kRequired,
                            [&](const char* name) { return table.column_from_name.contains(name); }))
      return table;
  }
  return {};
}

// The header is the first or second line: the number of cameras may stand before it ("#cameras 12").
std::optional<Table> find_header(std::string_view text) {
  text = without_byte_order_mark(text);
  for (int i = 0; i < 2; ++i)
    if (auto table = read_header(take_text_line(text))) return table;
  return {};
}

class Row {
 public:
  Row(const Table& table, std::vector<std::string> fields) : table_(table), fields_(std::move(fields)) {}

  std::string text(const char* column) const {
    const auto found = table_.column_from_name.find(column);
    return found == table_.column_from_name.end() || found->second >= fields_.size() ? ""
                                                                                     : fields_[found->second];
  }
  // 0 if the column is missing or empty, NaN if it is not a number.
  double number(const char* column) const {
    std::string field = text(column);
    std::erase_if(field, is_space);
    if (field.empty()) return 0;
    if (table_.separator != ',') std::ranges::replace(field, ',', '.');  // as some countries write it
    double value = 0;
    return parse_number(field, value) ? value : std::nan("");
  }
  bool has(const char* column) const { return !text(column).empty(); }

 private:
  const Table& table_;
  std::vector<std::string> fields_;
};

LensWithTerms read_lens(const Row& row) {
  LensWithTerms result;
  PartialLens& lens = result.lens;
  const double f = row.number("f") / kFilmWidth_mm;
  lens.focal_of_side = f;
  lens.center_x_of_side = row.number("px");
  lens.center_y_of_side = row.number("py");
  lens.distortion.radial = {row.number("k1"), row.number("k2"), row.number("k3"), 0, 0, 0};
  lens.distortion.tangential = {row.number("t1"), row.number("t2")};
  for (const char* term : {"f", "px", "py", "k1", "k2", "k3", "k4", "t1", "t2"})
    if (!std::isfinite(row.number(term))) lens.unsupported = fmt::format("its {} is not a number", term);
  leave_out("k4", row.number("k4") * std::pow(kCornerOfFilm / f, 9) * f, result);
  if (lens.unsupported.empty()) judge(result);
  return result;
}

std::optional<CameraFrame> read_frame(const Row& row) {
  const double degree = 3.14159265358979323846 / 180;
  const double h = row.number("heading") * degree, p = row.number("pitch") * degree;
  const double r = row.number("roll") * degree;
  const double ch = std::cos(h), sh = std::sin(h), cp = std::cos(p), sp = std::sin(p), cr = std::cos(r),
               sr = std::sin(r);
  const double x = row.number("x"), y = row.number("y"), z = row.number("alt");
  return frame_from_matrix({{{ch * cr + sh * sp * sr, sh * cp, ch * sr - sh * sp * cr, x},
                             {-sh * cr + ch * sp * sr, ch * cp, -sh * sr - ch * sp * cr, y},
                             {-cp * sr, sp, cp * cr, z}}},
                           CameraAxes::kOpenGl);
}

void read_row(const Row& row, const std::string& place, SourceBuilder& builder) {
  for (const char* column : kRequired)
    if (!row.has(column)) return builder.add_broken(place);
  builder.add({row.text("name"), "its row", read_lens(row), read_frame(row)});
}

}  // namespace

std::optional<fs::path> find_realitycapture(const fs::path& folder) {
  for (const fs::path& path : files_with_extension(folder, ".csv"))
    if (find_header(first_bytes(path))) return path;
  return {};
}

SceneSource read_realitycapture(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::optional<Table> table = find_header(first_bytes(path));
  if (!table)
    throw Error(
        fmt::format("{}: there are no columns name, x, y, alt, heading, pitch, roll and f; export "
                    "\"Internal/External camera parameters\"",
                    path.string()));
  InputFile file(path);
  SourceBuilder builder;
  bool is_below_header = false;
  for (std::size_t number = 1; file.remaining_bytes() > 0; ++number) {
    std::optional<std::string_view> line = file.take_line(kMaxLineBytes);
    if (!line && file.remaining_bytes() > kMaxLineBytes)
      throw Error(fmt::format("{}: line {} is longer than 64 KiB; this is not a list of cameras",
                              path.string(), number));
    if (!line) line = as_text(file.take_rest());
    if (!is_below_header) {
      is_below_header = read_header(without_byte_order_mark(*line)).has_value();
      continue;
    }
    if (std::ranges::all_of(*line, is_space)) continue;
    read_row(Row(*table, split_csv_line(*line, table->separator)), fmt::format("{} line {}", name, number),
             builder);
  }
  const std::string points = builder.add_points_beside(path.parent_path());
  return builder.build(fmt::format("RealityCapture ({}){}", name, points), path.parent_path(),
                       {"images", "."});
}

}  // namespace stipple
