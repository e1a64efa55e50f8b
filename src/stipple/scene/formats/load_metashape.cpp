// SPDX-License-Identifier: Apache-2.0
// Metashape's cameras.xml. A chunk has sensors (lenses), cameras (photos), and components, each an alignment
// of its own. A camera's transform is a 4x4 matrix, row by row, that takes its frame (x right, y down, z
// forward) into that of its component, which a similarity transform takes into the world.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/scene/formats/files_with_extension.h"
#include "stipple/scene/formats/metashape_lens.h"
#include "stipple/scene/formats/source_builder.h"
#include "stipple/scene/formats/tools.h"
#include "stipple/scene/formats/xml_file.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

struct Similarity {  // p_in_world = scale * rotation * p + translation
  Rows3x3 rotation{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  Vec3<double> translation{0, 0, 0};
  double scale = 1;
};

// From a <transform> element. Missing parts are those of the identity.
Similarity read_similarity(pugi::xml_node transform) {
  Similarity s;
  if (const auto r = numbers_of(transform.child("rotation")); r.size() == 9)
    for (std::size_t i = 0; i < 9; ++i) s.rotation[i / 3][i % 3] = r[i];
  if (const auto t = numbers_of(transform.child("translation")); t.size() == 3)
    s.translation = {t[0], t[1], t[2]};
  s.scale = number_of(transform.child("scale")).value_or(1);
  return s;
}

// The rotation and scale of the similarity applied to the axes, and all of it to the centre.
Rows3x4 in_world(const Similarity& s, const std::vector<double>& transform) {
  Rows3x4 rows;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) {
      rows[r][c] = c == 3 ? s.translation[static_cast<int>(r)] : 0;
      for (std::size_t k = 0; k < 3; ++k) rows[r][c] += s.scale * s.rotation[r][k] * transform[4 * k + c];
    }
  return rows;
}

// Cameras may be in groups, which have no groups themselves.
std::vector<pugi::xml_node> cameras_of(pugi::xml_node chunk) {
  std::vector<pugi::xml_node> cameras;
  for (pugi::xml_node node : chunk.child("cameras")) {
    if (std::string_view(node.name()) == "camera") cameras.push_back(node);
    if (std::string_view(node.name()) == "group")
      for (pugi::xml_node camera : node.children("camera")) cameras.push_back(camera);
  }
  return cameras;
}

bool is_switched_off(pugi::xml_node camera) {
  const std::string_view enabled = camera.attribute("enabled").as_string("true");
  return enabled == "false" || enabled == "0";
}

bool is_aligned(pugi::xml_node camera) { return camera.child("transform") && !is_switched_off(camera); }

// Counts the aligned cameras with each name. `name_of` maps a camera to the name of the group it belongs to.
template <class NameOf>
std::map<std::string, std::size_t> count_by(const std::vector<pugi::xml_node>& cameras,
                                            const NameOf& name_of) {
  std::map<std::string, std::size_t> counts;
  for (pugi::xml_node camera : cameras)
    if (is_aligned(camera)) ++counts[name_of(camera)];
  return counts;
}

pugi::xml_node choose_chunk(pugi::xml_node document, SourceBuilder& builder) {
  pugi::xml_node best;
  std::size_t most = 0, count = 0;
  for (pugi::xml_node chunk : document.children("chunk")) {
    const auto cameras = cameras_of(chunk);
    const auto aligned = static_cast<std::size_t>(std::ranges::count_if(cameras, is_aligned));
    if (!best || aligned > most) best = chunk, most = aligned;
    ++count;
  }
  if (count > 1)
    builder.add_problem(
        {false, fmt::format("{} chunks", count),
         fmt::format("The one with the most cameras, {}, is used; to use another one, export it "
                     "alone.",
                     printable(best.attribute("label").as_string("the first")))});
  return best;
}

std::string component_of(pugi::xml_node camera) { return camera.attribute("component_id").as_string(""); }

// The component with the most cameras: the frames of components have nothing to do with each other.
std::string choose_component(const std::vector<pugi::xml_node>& cameras, SourceBuilder& builder) {
  const auto counts = count_by(cameras, component_of);
  const auto best = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (counts.size() > 1)
    builder.add_problem({false, fmt::format("{} components, which were aligned separately", counts.size()),
                         fmt::format("The largest, with {}, is used; merge them in Metashape to use all.",
                                     count_of(best->second, "image"))});
  return best == counts.end() ? std::string() : best->first;
}

// Takes the cameras of a component into the world. Older files have a transform of the chunk instead.
Similarity world_from_component(pugi::xml_node chunk, const std::string& id) {
  for (pugi::xml_node component : chunk.child("components").children("component"))
    if (id == component.attribute("id").as_string()) return read_similarity(component.child("transform"));
  return read_similarity(chunk.child("transform"));
}

std::map<std::string, LensWithTerms> read_sensors(pugi::xml_node chunk) {
  std::map<std::string, LensWithTerms> lenses;
  for (pugi::xml_node sensor : chunk.child("sensors").children("sensor"))
    lenses.emplace(sensor.attribute("id").as_string(), read_metashape_lens(sensor));
  return lenses;
}

void read_cameras(pugi::xml_node chunk, SourceBuilder& builder) {
  const std::map<std::string, LensWithTerms> lenses = read_sensors(chunk);
  const std::vector<pugi::xml_node> cameras = cameras_of(chunk);
  const std::string component = choose_component(cameras, builder);
  const Similarity world = world_from_component(chunk, component);
  for (pugi::xml_node camera : cameras) {
    const std::string name = camera.attribute("label").as_string();
    const std::string sensor = camera.attribute("sensor_id").as_string();
    if (name.empty()) {
      builder.add_broken(fmt::format("camera {}", printable(camera.attribute("id").as_string("without id"))));
    } else if (is_switched_off(camera)) {
      builder.add_disabled(name);
    } else if (!camera.child("transform")) {
      builder.add_unposed(name);
    } else if (component_of(camera) == component) {
      const auto lens = lenses.find(sensor);
      LensWithTerms missing;
      missing.lens.unsupported = fmt::format("sensor {} is not in the file", printable(sensor));
      const std::vector<double> transform = numbers_of(camera.child("transform"));
      builder.add({name, fmt::format("sensor {}", printable(sensor)),
                   lens == lenses.end() ? missing : lens->second,
                   transform.size() == 16 ? frame_from_matrix(in_world(world, transform), CameraAxes::kOpenCv)
                                          : std::nullopt});
    }
  }
}

}  // namespace

std::optional<fs::path> find_metashape(const fs::path& folder) {
  for (const fs::path& path : files_with_extension(folder, ".xml")) {
    const std::string start = first_bytes(path);
    if (start.find("<document") != start.npos && start.find("<chunk") != start.npos) return path;
  }
  return {};
}

SceneSource read_metashape(const fs::path& path) {
  pugi::xml_document xml;
  load_xml(path, xml);
  SourceBuilder builder;
  const pugi::xml_node chunk = choose_chunk(xml.child("document"), builder);
  if (!chunk || !chunk.child("cameras"))
    throw Error(
        fmt::format("{}: there are no cameras of Metashape in it; export them with File > Export > Export "
                    "Cameras, as Agisoft XML",
                    path.string()));
  read_cameras(chunk, builder);
  const std::string points = builder.add_points_beside(path.parent_path());
  return builder.build(fmt::format("Metashape ({}){}", path.filename().string(), points), path.parent_path(),
                       {"images", "photos", "."});
}

}  // namespace stipple
