// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/scene.h"

#include "bindings/python/src/bindings.h"
#include "bindings/python/src/options.h"
#include "stipple/options/option_text.h"
#include "stipple/photo/load_photo.h"

namespace stipple {

void bind_scene(py::module_& module) {
  py::class_<SceneView>(module, "SceneView")
      .def_readonly("name", &SceneView::name)
      .def_readonly("image_path", &SceneView::image_path)
      .def_readonly("is_test", &SceneView::is_test)
      .def("camera",
           [](const SceneView& v) {
             const Camera& c = v.camera;
             return py::make_tuple(camera_numbers(c.camera_from_world.rotation,
                                                  c.camera_from_world.translation, c.focal_px, c.center_px),
                                   c.width_px, c.height_px);
           })
      .def("photo", [](const SceneView& v) {
        const Photo photo = without_lock([&] { return load_photo(v); });
        const auto plane = [&](const std::vector<std::uint8_t>& values) {
          return values.empty() ? py::array_t<std::uint8_t>(0)
                                : to_numpy(values, {photo.height_px, photo.width_px});
        };
        return py::make_tuple(to_numpy(photo.rgb, {photo.height_px, photo.width_px, 3}), plane(photo.weight),
                              plane(photo.alpha));
      });
  py::class_<Scene, std::shared_ptr<Scene>>(module, "Scene")
      .def_readonly("path", &Scene::path)
      .def_readonly("format", &Scene::format)
      .def_readonly("views", &Scene::views)
      .def_readonly("has_random_points", &Scene::has_random_points)
      .def_readonly("has_carved_points", &Scene::has_carved_points)
      .def_property_readonly("alpha", [](const Scene& s) { return to_text(s.alpha); })
      .def("point_positions",
           [](const Scene& s) {
             return rows_to_numpy<float>(s.points.position, {static_cast<py::ssize_t>(s.points.size()), 3});
           })
      .def("point_colors",
           [](const Scene& s) {
             return rows_to_numpy<std::uint8_t>(s.points.color,
                                                {static_cast<py::ssize_t>(s.points.size()), 3});
           })
      .def("problems", [](const Scene& s) {
        std::vector<std::pair<std::string, std::string>> found;
        for (const SceneProblem& p : s.problems)
          found.emplace_back(p.what, with_options(p.advice, p.options));
        return found;
      });
  std::vector<std::string> names;
  const SceneOptions defaults;
  for_each_scene_option(
      defaults, [&](const char* name, const char*, const auto&, const char*) { names.push_back(name); });
  module.attr("SCENE_OPTIONS") = names;
  module.def("load_scene", [](const std::filesystem::path& path, const py::dict& given) {
    const SceneOptions options = resolve(given_in_python(given)).scene;
    const py::gil_scoped_release no_lock;
    return std::make_shared<Scene>(load_scene(path, options));
  });
}

}  // namespace stipple
