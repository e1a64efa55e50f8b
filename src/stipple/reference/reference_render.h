// SPDX-License-Identifier: Apache-2.0
#pragma once
// The renderer that every backend is held to: no tiles, no threads, written to be read. For each pixel it
// walks all Gaussians in order of depth, and backward the same list from the back. Templated on the scalar;
// the tests use double.
#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "stipple/math/math.h"

namespace stipple {

// All inputs of a picture. A gradient has the same type: what it holds in a field is dL/d(that field).
template <class T>
struct ReferenceScene {
  std::vector<Vec3<T>> mean;
  std::vector<Vec3<T>> log_scale;
  std::vector<Vec4<T>> rotation;
  std::vector<T> logit_opacity;
  std::vector<Vec3<T>> sh;  // [gaussian * count + k]
  int sh_degree = 0;
  std::vector<Vec3<T>> color;  // when not empty: used instead of sh
  std::vector<typename Math<T>::PackedCovariance>
      covariance;  // when not empty: instead of scale and rotation

  typename Math<T>::Pinhole camera;
  Vec3<T> background;
  typename Math<T>::RenderSettings settings;

  int width() const { return static_cast<int>(camera.size_px.x); }
  int height() const { return static_cast<int>(camera.size_px.y); }
  std::size_t sh_count() const { return static_cast<std::size_t>(Math<T>::harmonic_count(sh_degree)); }
};

// The outputs, row by row; a gradient of them has the same type.
template <class T>
struct ReferencePicture {
  std::vector<Vec4<T>> channels;  // red, green, blue over the background; expected depth or inverse depth
  std::vector<T> alpha;           // accumulated: 1 - final transmittance
};

// One Gaussian on its way to the screen, with what the way back needs.
template <class T>
struct ReferenceSplat {
  typename Math<T>::Shape shape;
  typename Math<T>::Placed placed;
  T opacity;
  Vec3<T> view_offset;
  Vec3<T> sh_sum;
  typename Math<T>::Footprint footprint;
  typename Math<T>::Splat splat;
};

template <class T>
Vec3<T> harmonics_sum(const ReferenceScene<T>& scene, std::size_t i, Vec3<T> view_offset) {
  using M = Math<T>;
  auto basis = M::harmonic_basis(scene.sh_degree, M::view_direction(view_offset));
  Vec3<T> sum(T(0), T(0), T(0));
  for (std::size_t k = 0; k < scene.sh_count(); ++k)
    sum = sum + scene.sh[i * scene.sh_count() + k] * basis.b[k];
  return sum;
}

template <class T>
ReferenceSplat<T> reference_project(const ReferenceScene<T>& scene, std::size_t i) {
  using M = Math<T>;
  ReferenceSplat<T> s;
  s.placed.mean = scene.mean[i];
  if (scene.covariance.empty()) {
    s.shape = {M::scale_from_log(scene.log_scale[i], scene.settings.scale_modifier), scene.rotation[i]};
    s.placed.covariance = M::covariance(s.shape);
  } else {
    s.placed.covariance = M::unpack_covariance(scene.covariance[i]);
  }
  s.opacity = M::sigmoid(scene.logit_opacity[i]);
  s.footprint = M::footprint(s.placed, s.opacity, scene.camera, scene.settings);

  Vec3<T> color;
  if (scene.color.empty()) {
    s.view_offset = M::view_offset(scene.mean[i], scene.camera);
    s.sh_sum = harmonics_sum(scene, i, s.view_offset);
    color = M::color_from_harmonics(s.sh_sum);
  } else {
    color = scene.color[i];
  }
  if (!M::is_drawable_color(color)) s.footprint.opacity = T(0);
  T depth = M::depth_channel(s.footprint.depth, scene.settings.inverse_depth);
  s.splat = {s.footprint.mean_px, s.footprint.conic, s.footprint.opacity, {color.x, color.y, color.z, depth}};
  return s;
}

template <class T>
std::vector<ReferenceSplat<T>> reference_project(const ReferenceScene<T>& scene) {
  std::vector<ReferenceSplat<T>> splats;
  for (std::size_t i = 0; i < scene.mean.size(); ++i) splats.push_back(reference_project(scene, i));
  return splats;
}

// The Gaussians that are drawn, front to back; ties in depth go by index.
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

// The picture's gradient to the splats' and the background's: every pixel adds into every splat it shows.
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

template <class T>
void reference_color_backward(const ReferenceScene<T>& scene, const ReferenceSplat<T>& s, std::size_t i,
                              Vec3<T> dL_dcolor, ReferenceScene<T>& g) {
  using M = Math<T>;
  if (!scene.color.empty()) {
    g.color[i] = dL_dcolor;
    return;
  }
  Vec3<T> direction = M::view_direction(s.view_offset);
  auto basis = M::harmonic_basis(scene.sh_degree, direction);
  Vec3<T> dL_dsum = M::color_from_harmonics_vjp(s.sh_sum, dL_dcolor);
  typename M::HarmonicBasis dL_dbasis;
  for (T& b : dL_dbasis.b) b = T(0);
  for (std::size_t k = 0; k < scene.sh_count(); ++k) {
    g.sh[i * scene.sh_count() + k] = dL_dsum * basis.b[k];
    dL_dbasis.b[k] = dot(scene.sh[i * scene.sh_count() + k], dL_dsum);
  }
  Vec3<T> dL_doffset =
      M::view_direction_vjp(s.view_offset, M::harmonic_basis_vjp(scene.sh_degree, direction, dL_dbasis));
  g.mean[i] = g.mean[i] + dL_doffset;
  add_camera<T>(g.camera, M::view_offset_camera_vjp(scene.camera, dL_doffset));
}

template <class T>
void reference_project_backward(const ReferenceScene<T>& scene, const ReferenceSplat<T>& s, std::size_t i,
                                const typename Math<T>::Splat& dL_dsplat, ReferenceScene<T>& g) {
  using M = Math<T>;
  T dL_ddepth = M::depth_channel_vjp(s.footprint.depth, scene.settings.inverse_depth, dL_dsplat.channels.w);
  typename M::Footprint dL_dfootprint{
      dL_dsplat.mean_px, dL_dsplat.conic, dL_dsplat.opacity, dL_ddepth, {T(0), T(0)}};
  auto d = M::footprint_vjp(s.placed, s.opacity, scene.camera, scene.settings, dL_dfootprint);
  auto dL_dplaced = M::project_vjp(s.placed, scene.camera, d.dL_dprojected);
  g.mean[i] = dL_dplaced.mean;
  g.logit_opacity[i] = M::sigmoid_vjp(s.opacity, d.dL_dopacity);
  if (scene.covariance.empty()) {
    auto dL_dshape = M::covariance_vjp(s.shape, dL_dplaced.covariance);
    g.log_scale[i] = M::scale_from_log_vjp(s.shape.scale, dL_dshape.scale);
    g.rotation[i] = dL_dshape.rotation;
  } else {
    g.covariance[i] = M::unpack_covariance_vjp(dL_dplaced.covariance);
  }
  add_camera<T>(g.camera, M::project_camera_vjp(s.placed, scene.camera, d.dL_dprojected));
  Vec4<T> c = dL_dsplat.channels;
  reference_color_backward(scene, s, i, Vec3<T>(c.x, c.y, c.z), g);
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
