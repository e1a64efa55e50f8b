// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/scene/formats/camera_frame.h"
#include "stipple/scene/formats/points_file.h"
#include "stipple/scene/formats/save_tools.h"

namespace stipple {

namespace {

struct Angles {
  double heading, pitch, roll;  // degrees
};

// The angles of world_from_camera = Rz(-heading) Rx(pitch) Ry(roll), with OpenGL's axes. Of a camera that is
// exactly level, only the sum of heading and roll matters; roll is computed for the chosen heading, so that
// rounding errors near that case cancel.
Angles angles_of(const CameraFrame& f) {
  const Vec3<double> right = f.right, up = f.down * -1.0, back = f.forward * -1.0;
  const double h = std::atan2(up.x, up.y);
  const double c = std::cos(h), s = std::sin(h);
  // The first two rows of Rz(heading) world_from_camera = Rx(pitch) Ry(roll), as far as they are needed.
  const double cos_roll = c * right.x - s * right.y, sin_roll = c * back.x - s * back.y;
  const double cos_pitch = s * up.x + c * up.y;
  const double degrees = 180 / 3.14159265358979323846;
  return {h * degrees, std::atan2(up.z, cos_pitch) * degrees, std::atan2(sin_roll, cos_roll) * degrees};
}

// Names with a separator or a quote are quoted.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

void save_realitycapture(PosedImages images, const Points& points, const std::filesystem::path& folder) {
  std::string text = "#name,x,y,alt,heading,pitch,roll,f,px,py,k1,k2,k3,k4,t1,t2\n";
  for (const PosedImage& image : images) {
    require_lens(image, "RealityCapture", {false, true, false});
    const Lens& lens = image.lens;
    const CameraFrame frame = frame_of(image.camera_from_world);
    const Angles angles = angles_of(frame);
    const double side = std::max(lens.width_px, lens.height_px);
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},0,{},{}\n", csv_field(image.name), frame.center.x,
                    frame.center.y, frame.center.z, angles.heading, angles.pitch, angles.roll,
                    lens.focal_px.x / side * 36, (lens.center_px.x - lens.width_px / 2.0) / side,
                    (lens.center_px.y - lens.height_px / 2.0) / side, lens.radial[0], lens.radial[1],
                    lens.radial[2], lens.tangential[0], lens.tangential[1]);
  }
  save_points(points, folder / "points.ply");
  save_text(text, folder / "cameras.csv");
}

}  // namespace stipple
