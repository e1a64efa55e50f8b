// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "stipple/scene/formats/camera_frame.h"
#include "stipple/scene/formats/points_file.h"
#include "stipple/scene/formats/save_tools.h"

namespace stipple {

namespace {

void add_text(pugi::xml_node to, const char* name, const std::string& text) {
  to.append_child(name).text().set(text.c_str());
}

void add_resolution(const Lens& lens, pugi::xml_node to) {
  pugi::xml_node resolution = to.append_child("resolution");
  resolution.append_attribute("width") = lens.width_px;
  resolution.append_attribute("height") = lens.height_px;
}

void add_sensor(const Lens& lens, std::size_t id, pugi::xml_node to) {
  const char* type = lens.kind == Lens::Kind::kFisheye ? "fisheye" : "frame";
  pugi::xml_node sensor = to.append_child("sensor");
  sensor.append_attribute("id") = static_cast<unsigned>(id);
  sensor.append_attribute("label") = "unknown";
  sensor.append_attribute("type") = type;
  add_resolution(lens, sensor);
  pugi::xml_node calibration = sensor.append_child("calibration");
  calibration.append_attribute("type") = type;
  calibration.append_attribute("class") = "adjusted";
  add_resolution(lens, calibration);
  const auto add = [&](const char* name, double value) {
    if (value != 0) add_text(calibration, name, fmt::format("{}", value));
  };
  add("f", lens.focal_px.y);
  add("cx", lens.center_px.x - lens.width_px / 2.0);
  add("cy", lens.center_px.y - lens.height_px / 2.0);
  add("b1", lens.focal_px.x - lens.focal_px.y);
  const char* radial[] = {"k1", "k2", "k3", "k4"};
  for (std::size_t i = 0; i < 4; ++i) add(radial[i], lens.radial[i]);
  add("p1", lens.tangential[1]);  // the other way round than OpenCV
  add("p2", lens.tangential[0]);
}

std::string matrix_of(const RigidTransform& camera_from_world) {
  const CameraFrame f = frame_of(camera_from_world);
  std::string text;
  for (int r = 0; r < 3; ++r)
    text += fmt::format("{} {} {} {} ", f.right[r], f.down[r], f.forward[r], f.center[r]);
  return text + "0 0 0 1";
}

}  // namespace

void save_metashape(PosedImages images, const Points& points, const std::filesystem::path& folder) {
  for (const PosedImage& image : images) require_lens(image, "Metashape", {true, true, true});
  const SharedLenses shared = share_lenses(images);
  pugi::xml_document xml;
  pugi::xml_node document = xml.append_child("document");
  document.append_attribute("version") = "2.0.0";
  pugi::xml_node chunk = document.append_child("chunk");
  chunk.append_attribute("label") = "Chunk 1";
  chunk.append_attribute("enabled") = "true";
  pugi::xml_node sensors = chunk.append_child("sensors");
  for (std::size_t i = 0; i < shared.lenses.size(); ++i) add_sensor(shared.lenses[i], i, sensors);
  pugi::xml_node component = chunk.append_child("components").append_child("component");
  component.append_attribute("id") = 0;
  component.append_attribute("label") = "Component 1";
  pugi::xml_node cameras = chunk.append_child("cameras");
  for (std::size_t i = 0; i < images.size(); ++i) {
    pugi::xml_node camera = cameras.append_child("camera");
    camera.append_attribute("id") = static_cast<unsigned>(i);
    camera.append_attribute("sensor_id") = static_cast<unsigned>(shared.lens_of_image[i]);
    camera.append_attribute("component_id") = 0;
    camera.append_attribute("label") = images[i].name.c_str();
    add_text(camera, "transform", matrix_of(images[i].camera_from_world));
  }
  save_points(points, folder / "points.ply");
  std::ostringstream text;
  xml.save(text, "  ");
  save_text(text.str(), folder / "cameras.xml");
}

}  // namespace stipple
