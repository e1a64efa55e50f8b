// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scenes with images and gradients computed by the original CUDA implementation. The small ones are in
// tests/data/fixtures; the large ones are not part of the repository.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "stipple/backend/render_settings.h"
#include "stipple/reference/reference_render.h"
#include "tests/helpers/load_npz.h"
#include "tests/helpers/source_folder.h"

namespace stipple {

inline const std::vector<std::string> kFixtures = {
    "one",       "ten",       "hundred",    "strict_1k", "strict_needles",
    "strict_6k", "sh0_white", "seed003_2k", "k5_sh3",    "close_and_behind"};

// The path of a fixture in the repository, or else in $STIPPLE_FIXTURES, which defaults to ../shared/fixtures
// beside the source tree. Empty if there is no such file.
inline std::filesystem::path fixture_path(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path source = source_folder();
  const char* given = std::getenv("STIPPLE_FIXTURES");
  for (const fs::path& folder :
       {source / "tests/data/fixtures", given ? fs::path(given) : source / "../shared/fixtures"})
    if (const fs::path path = folder / (name + ".npz"); fs::exists(path)) return path;
  return {};
}

struct Fixture {
  ReferenceScene<double> scene;
  ReferencePicture<double> picture;      // colour only
  ReferencePicture<double> dL_dpicture;  // colour only
  ReferenceScene<double> gradient;       // with respect to our stored parameters
};

inline Vec3<double> vec3_at(const std::vector<double>& v, std::size_t i) {
  return {v[3 * i], v[3 * i + 1], v[3 * i + 2]};
}

// Converts 3 x H x W planes to pixels.
inline std::vector<Vec4<double>> pixels_from_planes(const std::vector<double>& planes) {
  std::size_t n = planes.size() / 3;
  std::vector<Vec4<double>> pixels;
  for (std::size_t i = 0; i < n; ++i) pixels.push_back({planes[i], planes[n + i], planes[2 * n + i], 0});
  return pixels;
}

inline Fixture load_fixture(const std::string& name) {
  NpzArrays a = load_npz(fixture_path(name));
  Fixture f;
  auto& s = f.scene;
  auto& g = f.gradient;
  s.sh_degree = g.sh_degree = static_cast<int>(a["sh_degree"][0]);
  for (std::size_t i = 0; i < a["opacities"].size(); ++i) {
    Vec3<double> scale = vec3_at(a["scales"], i), d_scale = vec3_at(a["d_scales"], i);
    const double* q = &a["quats"][4 * i];
    const double* d = &a["d_quats"][4 * i];
    Vec4<double> rotation(q[0], q[1], q[2], q[3]), d_rotation(d[0], d[1], d[2], d[3]);
    double o = a["opacities"][i];
    s.mean.push_back(vec3_at(a["means"], i));
    s.log_scale.push_back({std::log(scale.x), std::log(scale.y), std::log(scale.z)});
    s.rotation.push_back(rotation);
    s.logit_opacity.push_back(std::log(o / (1 - o)));
    g.mean.push_back(vec3_at(a["d_means"], i));
    g.log_scale.push_back(d_scale * scale);
    // The original differentiates a formula without normalisation. Our gradient includes the normalisation of
    // the quaternion, so that it has no component along the quaternion.
    g.rotation.push_back(d_rotation - rotation * dot(rotation, d_rotation));
    g.logit_opacity.push_back(a["d_opacities"][i] * o * (1 - o));
  }
  std::size_t stride = a["sh"].size() / a["opacities"].size() / 3;  // always stored for degree 3
  for (std::size_t i = 0; i < a["opacities"].size(); ++i)
    for (std::size_t k = 0; k < s.sh_count(); ++k) {
      s.sh.push_back(vec3_at(a["sh"], i * stride + k));
      g.sh.push_back(vec3_at(a["d_sh"], i * stride + k));
    }
  const auto& v = a["view"];  // row-major; ours is column-major
  s.camera.rotation = {v[0], v[4], v[8], v[1], v[5], v[9], v[2], v[6], v[10]};
  s.camera.translation = {v[3], v[7], v[11]};
  s.camera.focal_px = {a["fx"][0], a["fy"][0]};
  s.camera.center_px = {a["cx"][0], a["cy"][0]};
  s.camera.size_px = {a["width"][0], a["height"][0]};
  s.background = vec3_at(a["bg"], 0);
  s.settings = render_settings<Math<double>::RenderSettings>({});
  f.picture.channels = pixels_from_planes(a["image"]);
  f.dL_dpicture.channels = pixels_from_planes(a["d_image"]);
  f.dL_dpicture.alpha.assign(f.dL_dpicture.channels.size(), 0);
  return f;
}

// Whether the original computes the full gradient: it omits a term for a Gaussian whose centre lies
// outside 1.3 times the field of view.
inline bool has_comparable_gradient(const ReferenceScene<double>& scene, std::size_t i) {
  using M = Math<double>;
  M::Shape shape{M::scale_from_log(scene.log_scale[i], 1), scene.rotation[i]};
  auto terms = M::projection_terms({scene.mean[i], M::covariance(shape)}, scene.camera);
  return terms.slope == terms.clamped;
}

}  // namespace stipple
