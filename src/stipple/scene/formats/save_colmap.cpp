// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "stipple/camera/pose.h"
#include "stipple/io/output_file.h"
#include "stipple/scene/formats/save_scene.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written in memory order");

// A camera of the model PINHOLE or, for a distorted lens, OPENCV, FULL_OPENCV or OPENCV_FISHEYE.
struct CameraEntry {
  const char* model;
  int model_id;
  std::vector<double> parameters;
  int width_px, height_px;
  bool operator==(const CameraEntry&) const = default;
};

CameraEntry camera_entry(const Lens& lens) {
  const auto& k = lens.radial;
  const auto& p = lens.tangential;
  CameraEntry e{"PINHOLE",
                1,
                {lens.focal_px.x, lens.focal_px.y, lens.center_px.x, lens.center_px.y},
                lens.width_px,
                lens.height_px};
  const auto append = [&e](std::initializer_list<double> more) {
    e.parameters.insert(e.parameters.end(), more);
  };
  if (lens.is_pinhole()) return e;
  if (lens.kind == Lens::Kind::kFisheye) {
    e.model = "OPENCV_FISHEYE", e.model_id = 5;
    append({k[0], k[1], k[2], k[3]});
  } else if (k[2] == 0 && k[3] == 0 && k[4] == 0 && k[5] == 0) {
    e.model = "OPENCV", e.model_id = 4;
    append({k[0], k[1], p[0], p[1]});
  } else {
    e.model = "FULL_OPENCV", e.model_id = 6;
    append({k[0], k[1], p[0], p[1], k[2], k[3], k[4], k[5]});
  }
  return e;
}

struct Cameras {
  std::vector<CameraEntry> entries;  // ids start at 1
  std::vector<std::uint32_t> id_from_view;
};

Cameras shared_cameras(std::span<const PosedImage> views) {
  Cameras cameras;
  for (const PosedImage& view : views) {
    const CameraEntry entry = camera_entry(view.lens);
    auto found = std::find(cameras.entries.begin(), cameras.entries.end(), entry);
    if (found == cameras.entries.end()) found = cameras.entries.insert(found, entry);
    cameras.id_from_view.push_back(static_cast<std::uint32_t>(found - cameras.entries.begin() + 1));
  }
  return cameras;
}

void save(const fs::path& path, const std::string& content) {
  OutputFile file(path);
  file.write(content);
  file.commit();
}

template <class T>
void append(std::string& to, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.append(bytes, sizeof(T));
}

// Writes a header and the points in parts: `append_point(text, number, position, color)` adds one.
template <class AppendPoint>
void write_points(const PointStream& points, std::string text, const fs::path& path,
                  const AppendPoint& append_point) {
  constexpr std::size_t kPart = 1 << 16;
  OutputFile file(path);
  for (std::size_t begin = 0; begin < points.count; begin += kPart) {
    const Points part = points.range(begin, std::min(points.count, begin + kPart));
    for (std::size_t i = 0; i < part.size(); ++i)
      append_point(text, begin + i + 1, part.position[i], part.color[i]);
    file.write(text);
    text.clear();
  }
  file.write(text);  // the header, if there are no points
  file.commit();
}

using Color = std::array<std::uint8_t, 3>;

void save_binary(std::span<const PosedImage> views, const Cameras& cameras, const PointStream& points,
                 const fs::path& folder) {
  std::string text;
  append<std::uint64_t>(text, cameras.entries.size());
  for (std::size_t i = 0; i < cameras.entries.size(); ++i) {
    const CameraEntry& c = cameras.entries[i];
    append(text, static_cast<std::uint32_t>(i + 1));
    append(text, static_cast<std::int32_t>(c.model_id));
    append(text, static_cast<std::uint64_t>(c.width_px));
    append(text, static_cast<std::uint64_t>(c.height_px));
    for (double p : c.parameters) append(text, p);
  }
  save(folder / "cameras.bin", text);

  text.clear();
  append<std::uint64_t>(text, points.count);
  write_points(points, text, folder / "points3D.bin",
               [](std::string& to, std::size_t number, Vec3f position, const Color& color) {
                 append<std::uint64_t>(to, number);
                 for (int k = 0; k < 3; ++k) append(to, static_cast<double>(position[k]));
                 for (std::uint8_t c : color) append(to, c);
                 append(to, 0.0);
                 append<std::uint64_t>(to, 0);
               });

  text.clear();
  append<std::uint64_t>(text, views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    append(text, static_cast<std::uint32_t>(i + 1));
    for (double q : quaternion_from_rotation(views[i].camera_from_world.rotation)) append(text, q);
    for (int k = 0; k < 3; ++k) append(text, static_cast<double>(views[i].camera_from_world.translation[k]));
    append(text, cameras.id_from_view[i]);
    text += views[i].name;
    append<char>(text, 0);
    append<std::uint64_t>(text, 0);
  }
  save(folder / "images.bin", text);
}

void save_text(std::span<const PosedImage> views, const Cameras& cameras, const PointStream& points,
               const fs::path& folder) {
  std::string text = fmt::format("# CAMERA_ID MODEL WIDTH HEIGHT PARAMS[]\n# Number of cameras: {}\n",
                                 cameras.entries.size());
  for (std::size_t i = 0; i < cameras.entries.size(); ++i) {
    const CameraEntry& c = cameras.entries[i];
    text += fmt::format("{} {} {} {}", i + 1, c.model, c.width_px, c.height_px);
    for (double p : c.parameters) text += fmt::format(" {}", p);
    text += '\n';
  }
  save(folder / "cameras.txt", text);

  text = fmt::format("# POINT3D_ID X Y Z R G B ERROR TRACK[]\n# Number of points: {}\n", points.count);
  write_points(points, text, folder / "points3D.txt",
               [](std::string& to, std::size_t number, Vec3f p, const Color& c) {
                 to += fmt::format("{} {} {} {} {} {} {} 0\n", number, p.x, p.y, p.z, c[0], c[1], c[2]);
               });

  text = fmt::format(
      "# IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME, then a line of points\n"
      "# Number of images: {}\n",
      views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    text += fmt::format("{}", i + 1);
    for (double q : quaternion_from_rotation(views[i].camera_from_world.rotation))
      text += fmt::format(" {}", q);
    const Vec3f t = views[i].camera_from_world.translation;
    text += fmt::format(" {} {} {} {} {}\n\n", t.x, t.y, t.z, cameras.id_from_view[i], views[i].name);
  }
  save(folder / "images.txt", text);
}

}  // namespace

Points part_of(const Points& points, std::size_t begin, std::size_t end) {
  const auto from = static_cast<std::ptrdiff_t>(begin), to = static_cast<std::ptrdiff_t>(end);
  return {{points.position.begin() + from, points.position.begin() + to},
          {points.color.begin() + from, points.color.begin() + to}};
}

void save_colmap(PosedImages views, const Points& points, ColmapFormat format, const fs::path& folder) {
  const auto range = [&points](std::size_t begin, std::size_t end) { return part_of(points, begin, end); };
  save_colmap(views, PointStream(points.size(), range), format, folder);
}

void save_colmap(PosedImages views, const PointStream& points, ColmapFormat format, const fs::path& folder) {
  const Cameras cameras = shared_cameras(views);
  if (format == ColmapFormat::kBinary)
    save_binary(views, cameras, points, folder);
  else
    save_text(views, cameras, points, folder);
}

}  // namespace stipple
