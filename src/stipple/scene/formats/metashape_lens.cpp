// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/metashape_lens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/io/input_file.h"
#include "stipple/scene/formats/xml_file.h"

namespace stipple {

namespace {

// The adjusted calibration, or else the one that the user gave.
pugi::xml_node calibration_of(pugi::xml_node sensor) {
  pugi::xml_node found;
  for (pugi::xml_node calibration : sensor.children("calibration"))
    if (!found || std::string_view(calibration.attribute("class").as_string()) != "initial")
      found = calibration;
  return found;
}

struct Calibration {
  double w, h, f, cx, cy, b1, b2;
  double k[4], p[4];
};

Calibration read(pugi::xml_node node, double w, double h, double f) {
  const auto value = [&](const char* name) { return number_of(node.child(name)).value_or(0); };
  return {w,
          h,
          f,
          value("cx"),
          value("cy"),
          value("b1"),
          value("b2"),
          {value("k1"), value("k2"), value("k3"), value("k4")},
          {value("p1"), value("p2"), value("p3"), value("p4")}};
}

void leave_out_terms(const Calibration& c, bool is_fisheye, LensWithTerms& lens) {
  const double corner = std::hypot(c.w, c.h) / 2 / c.f;  // r there, up to the distortion
  const double r = is_fisheye ? std::min(corner, 3.14159265358979323846) : corner, side = std::max(c.w, c.h);
  const double tangential = 3 * r * r * (std::abs(c.p[0]) + std::abs(c.p[1])) * c.f / side;
  leave_out("b2", c.b2 * c.h / 2 / c.f / side, lens);
  leave_out("p3, p4", tangential * (std::abs(c.p[2]) * r * r + std::abs(c.p[3]) * std::pow(r, 4)), lens);
  if (is_fisheye)
    leave_out("p1, p2", tangential, lens);
  else
    leave_out("k4", c.k[3] * std::pow(r, 9) * c.f / side, lens);
}

}  // namespace

LensWithTerms read_metashape_lens(pugi::xml_node sensor) {
  LensWithTerms result;
  PartialLens& lens = result.lens;
  const pugi::xml_node node = calibration_of(sensor);
  const std::string id = printable(sensor.attribute("id").as_string());
  const auto refuse = [&](const std::string& why) {
    lens.unsupported = fmt::format("sensor {}: {}", id, why);
    return result;
  };
  const std::string type = node.attribute("type").as_string(sensor.attribute("type").as_string("frame"));
  const bool is_fisheye = type == "fisheye";
  if (!is_fisheye && type != "frame")
    return refuse(fmt::format("camera type {} is not supported; export undistorted photos", printable(type)));
  pugi::xml_node resolution = node.child("resolution");
  if (!resolution) resolution = sensor.child("resolution");
  const double w = resolution.attribute("width").as_double(), h = resolution.attribute("height").as_double();
  const std::optional<double> f = number_of(node.child("f"));
  if (!(w >= 1 && h >= 1) || !f || !(*f > 0))
    return refuse("its calibration lacks a resolution or a focal length");
  const Calibration c = read(node, w, h, *f);
  lens.width_px = w;
  lens.height_px = h;
  lens.focal_x_px = c.f + c.b1;
  lens.focal_y_px = c.f;
  lens.center_x_px = w / 2 + c.cx;
  lens.center_y_px = h / 2 + c.cy;
  lens.distortion.kind = is_fisheye ? Lens::Kind::kFisheye : Lens::Kind::kPerspective;
  std::copy_n(c.k, is_fisheye ? 4 : 3, lens.distortion.radial.begin());
  if (!is_fisheye) lens.distortion.tangential = {c.p[1], c.p[0]};
  leave_out_terms(c, is_fisheye, result);
  judge(result);
  if (!lens.unsupported.empty()) return refuse(lens.unsupported);
  return result;
}

}  // namespace stipple
