// SPDX-License-Identifier: Apache-2.0
// Models as files and arrays, rendering, image files and image metrics.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bindings/python/src/bindings.h"
#include "bindings/python/src/options.h"
#include "bindings/python/src/shared_backend.h"
#include "stipple/backend/render.h"
#include "stipple/image/ssim.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/ply/ply.h"
#include "stipple/model/model_file.h"
#include "stipple/options/model_options.h"
#include "stipple/options/option_text.h"

namespace stipple {

namespace {

template <class T>
std::span<const T> span_at(Address data, std::size_t count) {
  return {reinterpret_cast<const T*>(data), count};
}

// The unnamed array only provides the element type.
template <class T>
DeviceArray<T> array_from(Backend& backend, const DeviceArray<T>&, Address data, std::size_t count) {
  if (count > 0 && backend.own_memory_bytes() == 0) return array_over<T>(backend, data, count);
  return DeviceArray<T>(backend, span_at<T>(data, count));
}

SaveModelOptions save_options(const py::dict& given) {
  SaveModelOptions options;
  for (const auto& item : given) {
    const auto given_name = item.first.cast<std::string>();
    bool is_known = false;
    for_each_save_option(options, [&](const char* name, auto& value, const char*) {
      if (given_name != name) return;
      is_known = true;
      if (const auto problem = parse_option(option_text(item.second), value))
        throw OptionError(name, *problem);
    });
    if (!is_known) throw UnknownOption(given_name, "is not an option of save_model");
  }
  return options;
}

}  // namespace

std::string with_options(const std::string& message, const std::vector<std::string>& options) {
  if (options.empty()) return message;
  return fmt::format("{} (see the option{} {})", message, options.size() == 1 ? "" : "s",
                     fmt::join(options, " and "));
}

Gaussians to_host(const HostGaussians& from) {
  Gaussians to;
  to.sh_degree = from.sh_degree;
  for_each_parameter(
      [&](int per_gaussian, auto& array, Address data) {
        using T = typename std::decay_t<decltype(array)>::value_type;
        const auto values = span_at<T>(data, from.count * static_cast<std::size_t>(per_gaussian));
        array.assign(values.begin(), values.end());
      },
      to, from);
  return to;
}

DeviceGaussians to_device(Backend& backend, const HostGaussians& from) {
  DeviceGaussians to;
  to.sh_degree = from.sh_degree;
  for_each_parameter(
      [&](int per_gaussian, auto& array, Address data) {
        array = array_from(backend, array, data, from.count * static_cast<std::size_t>(per_gaussian));
      },
      to, from);
  return to;
}

py::array_t<float> to_numpy(const Image& image) {
  std::vector<py::ssize_t> shape = {image.height_px, image.width_px};
  if (image.channel_count > 1) shape.push_back(image.channel_count);
  return to_numpy(image.values, shape);
}

Image to_image(const HostValues<float>& values) {
  Image image(static_cast<int>(values.shape(1)), static_cast<int>(values.shape(0)),
              values.ndim() == 3 ? static_cast<int>(values.shape(2)) : 1);
  std::copy_n(values.data(), values.size(), image.values.begin());
  return image;
}

py::tuple to_numpy(const Gaussians& g) {
  const auto n = static_cast<py::ssize_t>(g.size());
  return py::make_tuple(rows_to_numpy<float>(g.mean, {n, 3}), rows_to_numpy<float>(g.log_scale, {n, 3}),
                        rows_to_numpy<float>(g.rotation, {n, 4}), rows_to_numpy<float>(g.logit_opacity, {n}),
                        rows_to_numpy<float>(g.sh, {n, g.sh_count(), 3}));
}

void bind_model(py::module_& module) {
  py::class_<HostGaussians>(module, "HostGaussians")
      .def(py::init([](std::size_t count, int sh_degree, const std::vector<Address>& addresses) {
        HostGaussians g;
        g.count = count;
        g.sh_degree = sh_degree;
        auto next = addresses.begin();  // in the order of for_each_parameter
        for_each_parameter([&](int, Address& to) { to = *next++; }, g);
        return g;
      }));
  module.def("load_ply", [](const std::filesystem::path& path) {
    return to_numpy(without_lock([&] { return load_ply(path); }));
  });
  module.def(
      "save_ply",
      [](const HostGaussians& gaussians, const std::filesystem::path& path) {
        save_ply(to_host(gaussians), path);
      },
      NoLock());
  module.def("load_model", [](const std::filesystem::path& path) {
    return to_numpy(without_lock([&] { return load_model(path); }));
  });
  std::vector<std::tuple<std::string, std::string, std::string>> save_options_list;
  const SaveModelOptions defaults;
  for_each_save_option(defaults, [&](const char* name, const auto& value, const char* help) {
    save_options_list.emplace_back(name, to_text(value), help);
  });
  module.attr("SAVE_OPTIONS") = save_options_list;
  module.def("save_model",
             [](const HostGaussians& gaussians, const std::filesystem::path& path, const py::dict& given) {
               const SaveModelOptions options = save_options(given);
               const py::gil_scoped_release no_lock;
               save_model(to_host(gaussians), path, options);
             });
  module.def("render", [](const std::string& backend, const HostGaussians& gaussians, const View& view) {
    const RenderedImages images = without_lock([&] {
      return shared_backend(backend)->use(
          [&](Backend& b) { return render(b, to_device(b, gaussians), view); });
    });
    return py::make_tuple(to_numpy(images.color), to_numpy(images.alpha), to_numpy(images.depth));
  });
  const auto def_score = [&](const char* name, double (*score)(const Image&, const Image&)) {
    module.def(name, [score](const HostValues<float>& a, const HostValues<float>& b) {
      const Image first = to_image(a), second = to_image(b);
      const py::gil_scoped_release no_lock;
      return score(first, second);
    });
  };
  def_score("psnr", [](const Image& a, const Image& b) { return psnr(a, b); });
  def_score("ssim", [](const Image& a, const Image& b) { return ssim(a, b); });
  module.def("save_png", [](const HostValues<float>& values, const std::filesystem::path& path) {
    const Image image = to_image(values);
    const py::gil_scoped_release no_lock;
    save_png(image, path);
  });
  module.def("load_image", [](const std::filesystem::path& path) {
    return to_numpy(without_lock([&] { return load_image(path); }));
  });
  module.def(
      "devices",
      [] {
        std::vector<std::tuple<std::string, std::string, std::string>> found;  // name, description, problem
        for (const std::string& name : backend_names()) {
          const std::vector<DeviceInfo> devices = list_devices(name);
          if (devices.empty()) found.emplace_back(name, "", why_unusable(name));
          for (std::size_t i = 0; i < devices.size(); ++i)
            found.emplace_back(i == 0 ? name : fmt::format("{}:{}", name, i), devices[i].description,
                               devices[i].problem);
        }
        return found;
      },
      NoLock());
}

}  // namespace stipple
