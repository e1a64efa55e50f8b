// SPDX-License-Identifier: Apache-2.0
#pragma once
// The reference renderer that every backend is tested against: no tiles, no threads, written to be read. For
// each pixel it walks all Gaussians in order of depth; the backward pass walks the same list from the back.
// Templated on the scalar type; the tests use double.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "stipple/math/math.h"

namespace stipple {

// All inputs of a render. A gradient has the same type: each field holds dL/d(that field).
template <class T>
struct ReferenceScene {
  std::vector<Vec3<T>> mean;
  std::vector<Vec3<T>> log_scale;
  std::vector<Vec4<T>> rotation;
  std::vector<T> logit_opacity;
  std::vector<Vec3<T>> sh;  // [gaussian * sh_count() + k]
  int sh_degree = 0;
  std::vector<Vec3<T>> color;  // if not empty, used instead of sh
  // If not empty, used instead of log_scale and rotation.
  std::vector<typename Math<T>::PackedCovariance> covariance;
  std::vector<T> filter_variance;  // if not empty, of the 3D filter; not differentiated

  typename Math<T>::Pinhole camera;
  Vec3<T> background;
  typename Math<T>::RenderSettings settings;
  typename Math<T>::Dropout dropout{0, 0, 0, 0, T(1)};
  bool lifts_clamped_colors = false;  // WantedGradients::lifts_clamped_colors

  int width() const { return static_cast<int>(camera.size_px.x); }
  int height() const { return static_cast<int>(camera.size_px.y); }
  std::size_t sh_count() const { return static_cast<std::size_t>(Math<T>::harmonic_count(sh_degree)); }
};

// The outputs, row by row; their gradient has the same type.
template <class T>
struct ReferencePicture {
  std::vector<Vec4<T>> channels;  // red, green, blue over the background; expected depth or inverse depth
  std::vector<T> alpha;           // accumulated: 1 - final transmittance
};

// One projected Gaussian, with the intermediate results that the backward pass needs.
template <class T>
struct ReferenceSplat : Math<T>::ActiveGaussian {
  typename Math<T>::ViewRay ray;
  typename Math<T>::HarmonicBasis basis;
  Vec3<T> sh_sum;
  typename Math<T>::Footprint footprint;
  typename Math<T>::Splat splat;
};

template <class T>
typename Math<T>::GaussianForm form_of(const ReferenceScene<T>& scene) {
  return {!scene.covariance.empty(), false, true};
}

template <class T>
typename Math<T>::Alteration alteration(const ReferenceScene<T>& scene, std::size_t i) {
  return {scene.filter_variance.empty() ? T(0) : scene.filter_variance[i],
          Math<T>::dropout_factor(static_cast<std::uint32_t>(i), scene.dropout)};
}

template <class T>
typename Math<T>::StoredGaussian stored(const ReferenceScene<T>& scene, std::size_t i) {
  typename Math<T>::StoredGaussian g{};
  g.mean = scene.mean[i];
  g.logit_opacity = scene.logit_opacity[i];
  if (scene.covariance.empty()) {
    g.log_scale = scene.log_scale[i];
    g.rotation = scene.rotation[i];
  } else {
    g.covariance = scene.covariance[i];
  }
  return g;
}

template <class T>
Vec3<T> harmonics_sum(const ReferenceScene<T>& scene, std::size_t i,
                      const typename Math<T>::HarmonicBasis& basis) {
  Vec3<T> sum(T(0), T(0), T(0));
  for (std::size_t k = 0; k < scene.sh_count(); ++k)
    sum = sum + scene.sh[i * scene.sh_count() + k] * basis.b[k];
  return sum;
}

template <class T>
ReferenceSplat<T> reference_project(const ReferenceScene<T>& scene, std::size_t i) {
  using M = Math<T>;
  ReferenceSplat<T> s{
      M::activate(stored(scene, i), alteration(scene, i), form_of(scene), scene.settings.scale_modifier),
      {},
      {},
      {},
      {},
      {}};
  s.footprint = M::footprint(s.placed, s.opacity, scene.camera, scene.settings);

  Vec3<T> color;
  if (scene.color.empty()) {
    s.ray = M::view_ray(scene.mean[i], scene.camera);
    s.basis = M::harmonic_basis(scene.sh_degree, s.ray.direction);
    s.sh_sum = harmonics_sum(scene, i, s.basis);
    color = M::color_from_harmonics(s.sh_sum);
  } else {
    color = scene.color[i];
  }
  if (!M::is_drawable_color(color)) s.footprint.opacity = T(0);
  s.splat = M::splat_of(s.footprint, color, scene.settings);
  return s;
}

template <class T>
std::vector<ReferenceSplat<T>> reference_project(const ReferenceScene<T>& scene) {
  std::vector<ReferenceSplat<T>> splats;
  for (std::size_t i = 0; i < scene.mean.size(); ++i) splats.push_back(reference_project(scene, i));
  return splats;
}

// The Gaussians that are drawn, front to back; ties in depth are broken by index.
template <class T>
std::vector<std::size_t> reference_order(const std::vector<ReferenceSplat<T>>& splats) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < splats.size(); ++i)
    if (splats[i].footprint.opacity > T(0)) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return splats[a].footprint.depth < splats[b].footprint.depth;
  });
  return order;
}

template <class T>
struct Contribution {
  std::size_t gaussian;
  T alpha;
  T front;  // transmittance in front of it
};

template <class T>
std::vector<Contribution<T>> reference_walk(const ReferenceScene<T>& scene,
                                            const std::vector<ReferenceSplat<T>>& splats,
                                            const std::vector<std::size_t>& order, Vec2<T> pixel) {
  std::vector<Contribution<T>> walk;
  T transmittance = T(1);
  for (std::size_t i : order) {
    T alpha = Math<T>::alpha_at(splats[i].splat, pixel, scene.settings.alpha_max);
    if (alpha == T(0)) continue;
    if (Math<T>::finishes_pixel(transmittance, alpha)) break;
    walk.push_back({i, alpha, transmittance});
    transmittance = transmittance * (T(1) - alpha);
  }
  return walk;
}

template <class T>
T final_transmittance(const std::vector<Contribution<T>>& walk) {
  return walk.empty() ? T(1) : walk.back().front * (T(1) - walk.back().alpha);
}

template <class T>
Vec2<T> pixel_center(int x, int y) {
  return {T(x + 0.5), T(y + 0.5)};
}

template <class T>
ReferencePicture<T> reference_render(const ReferenceScene<T>& scene) {
  using M = Math<T>;
  auto splats = reference_project(scene);
  auto order = reference_order(splats);
  ReferencePicture<T> picture;
  for (int y = 0; y < scene.height(); ++y)
    for (int x = 0; x < scene.width(); ++x) {
      typename M::Pixel pixel{{T(0), T(0), T(0), T(0)}, T(1)};
      for (const Contribution<T>& c : reference_walk(scene, splats, order, pixel_center<T>(x, y)))
        pixel = M::blend(pixel, splats[c.gaussian].splat, c.alpha);
      Vec4<T> behind(scene.background.x, scene.background.y, scene.background.z, T(0));
      picture.channels.push_back(pixel.channels + behind * pixel.transmittance);
      picture.alpha.push_back(T(1) - pixel.transmittance);
    }
  return picture;
}

template <class T>
ReferenceScene<T> zero_gradient_of(const ReferenceScene<T>& scene) {
  ReferenceScene<T> g;
  Vec3<T> zero(T(0), T(0), T(0));
  g.mean.assign(scene.mean.size(), zero);
  g.log_scale.assign(scene.log_scale.size(), zero);
  g.rotation.assign(scene.rotation.size(), {T(0), T(0), T(0), T(0)});
  g.logit_opacity.assign(scene.logit_opacity.size(), T(0));
  g.sh.assign(scene.sh.size(), zero);
  g.sh_degree = scene.sh_degree;
  g.color.assign(scene.color.size(), zero);
  g.covariance.assign(scene.covariance.size(), {T(0), T(0), T(0), T(0), T(0), T(0)});
  g.camera = {{zero, zero, zero}, zero, {T(0), T(0)}, {T(0), T(0)}, {T(0), T(0)}};
  g.background = zero;
  g.settings = scene.settings;
  return g;
}

// Propagates the image's gradient to the splats and the background. Each pixel adds to every splat it shows.
template <class T>
std::vector<typename Math<T>::Splat> reference_blend_backward(const ReferenceScene<T>& scene,
                                                              const std::vector<ReferenceSplat<T>>& splats,
                                                              const ReferencePicture<T>& dL_dpicture,
                                                              Vec3<T>& dL_dbackground) {
  using M = Math<T>;
  auto order = reference_order(splats);
  Vec3<T> zero(T(0), T(0), T(0));
  typename M::Splat none{{T(0), T(0)}, zero, T(0), {T(0), T(0), T(0), T(0)}};
  std::vector<typename M::Splat> dL_dsplat(splats.size(), none);
  for (int y = 0; y < scene.height(); ++y)
    for (int x = 0; x < scene.width(); ++x) {
      std::size_t at = static_cast<std::size_t>(y) * scene.width() + x;
      Vec4<T> g = dL_dpicture.channels[at];
      Vec3<T> g_rgb(g.x, g.y, g.z);
      Vec2<T> pixel = pixel_center<T>(x, y);
      auto walk = reference_walk(scene, splats, order, pixel);
      T last = final_transmittance(walk);
      dL_dbackground = dL_dbackground + g_rgb * last;
      T behind = last * dot(scene.background, g_rgb);
      for (auto c = walk.rbegin(); c != walk.rend(); ++c) {
        const typename M::Splat& s = splats[c->gaussian].splat;
        auto d = M::blend_vjp(c->front, behind, s, pixel, scene.settings.alpha_max, g, dL_dpicture.alpha[at]);
        auto& sum = dL_dsplat[c->gaussian];
        sum.mean_px = sum.mean_px + d.mean_px;
        sum.conic = sum.conic + d.conic;
        sum.opacity = sum.opacity + d.opacity;
        sum.channels = sum.channels + d.channels;
        behind = behind + (dot(s.channels, g) + dL_dpicture.alpha[at]) * c->alpha * c->front;
      }
    }
  return dL_dsplat;
}

template <class T>
void add_camera(typename Math<T>::Pinhole& sum, const typename Math<T>::Pinhole& d) {
  sum.rotation = sum.rotation + d.rotation;
  sum.translation = sum.translation + d.translation;
  sum.focal_px = sum.focal_px + d.focal_px;
  sum.center_px = sum.center_px + d.center_px;
}

// Stores the gradient of color or sh, and returns that of the Gaussian's offset from the camera's centre.
template <class T>
Vec3<T> reference_color_backward(const ReferenceScene<T>& scene, const ReferenceSplat<T>& s, std::size_t i,
                                 Vec4<T> dL_dchannels, ReferenceScene<T>& g) {
  using M = Math<T>;
  Vec3<T> dL_dcolor(dL_dchannels.x, dL_dchannels.y, dL_dchannels.z);
  if (!scene.color.empty()) {
    g.color[i] = dL_dcolor;
    return {T(0), T(0), T(0)};
  }
  Vec4<T> c = s.splat.channels;
  Vec3<T> dL_dsum = M::color_from_harmonics_vjp({c.x, c.y, c.z}, dL_dcolor, scene.lifts_clamped_colors);
  typename M::HarmonicBasis dL_dbasis;
  for (T& b : dL_dbasis.b) b = T(0);
  for (std::size_t k = 0; k < scene.sh_count(); ++k) {
    g.sh[i * scene.sh_count() + k] = dL_dsum * s.basis.b[k];
    dL_dbasis.b[k] = dot(scene.sh[i * scene.sh_count() + k], dL_dsum);
  }
  return M::view_ray_vjp(scene.sh_degree, s.ray, dL_dbasis);
}

template <class T>
void reference_project_backward(const ReferenceScene<T>& scene, const ReferenceSplat<T>& s, std::size_t i,
                                const typename Math<T>::Splat& dL_dsplat, ReferenceScene<T>& g) {
  using M = Math<T>;
  auto d = M::gaussian_vjp(s, form_of(scene), scene.camera, scene.settings, s.footprint.depth, dL_dsplat);
  Vec3<T> dL_doffset = reference_color_backward(scene, s, i, dL_dsplat.channels, g);
  g.mean[i] = d.dL_dstored.mean + dL_doffset;
  g.logit_opacity[i] = d.dL_dstored.logit_opacity;
  if (scene.covariance.empty()) {
    g.log_scale[i] = d.dL_dstored.log_scale;
    g.rotation[i] = d.dL_dstored.rotation;
  } else {
    g.covariance[i] = d.dL_dstored.covariance;
  }
  add_camera<T>(g.camera, M::gaussian_camera_vjp(s.placed, scene.camera, d.dL_dprojected, dL_doffset));
}

template <class T>
ReferenceScene<T> reference_backward(const ReferenceScene<T>& scene, const ReferencePicture<T>& dL_dpicture) {
  ReferenceScene<T> g = zero_gradient_of(scene);
  auto splats = reference_project(scene);
  auto dL_dsplat = reference_blend_backward(scene, splats, dL_dpicture, g.background);
  for (std::size_t i = 0; i < splats.size(); ++i)
    if (splats[i].footprint.opacity > T(0)) reference_project_backward(scene, splats[i], i, dL_dsplat[i], g);
  return g;
}

}  // namespace stipple
