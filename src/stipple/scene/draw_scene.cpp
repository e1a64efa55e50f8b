// SPDX-License-Identifier: Apache-2.0
// A map of a scene: two parallel projections, along "up" and along one horizontal direction.
#include "stipple/scene/draw_scene.h"

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/draw/canvas.h"
#include "stipple/scene/check_scene.h"
#include "stipple/scene/layout.h"
#include "stipple/scene/random_points.h"

namespace stipple {

namespace {

constexpr int kPanelPx = 800, kMarginPx = 30, kGapPx = 4;
constexpr float kCameraShare = 3;            // a panel covers at most this multiple of the cameras' range
constexpr std::size_t kMaxPoints = 200'000;  // more would only hide each other
const Vec3f kPaper(1, 1, 1), kFrame(0.75f, 0.75f, 0.75f), kTrain(0.1f, 0.3f, 0.85f),
    kTest(0.95f, 0.45f, 0.05f);

// The range of one coordinate without 2% at either end: a few outliers must not shrink the rest.
struct Range {
  float low, high;
  float size() const { return high - low; }
};

Range range_of(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  const std::size_t skip = values.size() / 50;
  return {values[skip], values[values.size() - 1 - skip]};
}

class Panel {
 public:
  Panel(Canvas& canvas, int left_px, Vec3f right, Vec3f up, const Scene& scene)
      : canvas_(canvas), left_px_(left_px), right_(right), up_(up) {
    std::vector<float> xs, ys, camera_xs, camera_ys;
    for (const Vec3f& p : scene.points.position) xs.push_back(dot(p, right)), ys.push_back(dot(p, up));
    const Range px = range_of(std::move(xs)), py = range_of(std::move(ys));
    for (const SceneView& v : scene.views) {
      camera_xs.push_back(dot(center_of(v.camera), right));
      camera_ys.push_back(dot(center_of(v.camera), up));
    }
    const Range cx = range_of(std::move(camera_xs)), cy = range_of(std::move(camera_ys));
    const Range x{std::min(px.low, cx.low), std::max(px.high, cx.high)},
        y{std::min(py.low, cy.low), std::max(py.high, cy.high)};
    middle_ = {(x.low + x.high) / 2, (y.low + y.high) / 2};
    // Keeping the cameras visible matters more than showing what is far beyond them.
    const float reach = kCameraShare * std::max(cx.size(), cy.size());
    const float size = std::max({std::min(std::max(x.size(), y.size()), reach), 1e-6f});
    if (size == reach) middle_ = {(cx.low + cx.high) / 2, (cy.low + cy.high) / 2};
    scale_ = static_cast<float>(kPanelPx - 2 * kMarginPx) / size;
    frustum_length_ = (scene.views.size() > 100 ? 0.02f : 0.04f) * size;
  }

  void draw(const Scene& scene) {
    const std::size_t step = scene.points.size() / kMaxPoints + 1;
    for (std::size_t i = 0; i < scene.points.size(); i += step) {
      const auto& c = scene.points.color[i];
      const Vec3f color(static_cast<float>(c[0]) / 255, static_cast<float>(c[1]) / 255,
                        static_cast<float>(c[2]) / 255);
      const Vec2f at = place(scene.points.position[i]);
      if (is_inside(at)) canvas_.dot(at, 0.8f, color * 0.85f);
    }
    for (const SceneView& v : scene.views) draw_camera(v);
    outline();
  }

 private:
  Vec2f place(Vec3f p) const {
    const float half = static_cast<float>(kPanelPx) / 2;
    return {static_cast<float>(left_px_) + half + (dot(p, right_) - middle_.x) * scale_,
            half - (dot(p, up_) - middle_.y) * scale_};
  }
  bool is_inside(Vec2f p) const {
    const float left = static_cast<float>(left_px_), size = static_cast<float>(kPanelPx);
    return left <= p.x && p.x < left + size && 0 <= p.y && p.y < size;
  }

  // Draws the camera as the pyramid of its field of view.
  void draw_camera(const SceneView& view) {
    const Camera& c = view.camera;
    const Vec3f color = view.is_test ? kTest : kTrain;
    const Vec3f center = center_of(c);
    const Vec2f apex = place(center);
    if (!is_inside(apex)) return;
    Vec2f corner[4];
    for (int i = 0; i < 4; ++i) {
      const float u = i == 0 || i == 3 ? 0.0f : static_cast<float>(c.width_px);
      const float v = i < 2 ? 0.0f : static_cast<float>(c.height_px);
      const Vec3f ray =
          normalized({(u - c.center_px.x) / c.focal_px.x, (v - c.center_px.y) / c.focal_px.y, 1.0f});
      const Mat3f& r = c.camera_from_world.rotation;
      corner[i] = place(center + Vec3f(dot(r[0], ray), dot(r[1], ray), dot(r[2], ray)) * frustum_length_);
    }
    for (int i = 0; i < 4; ++i) {
      if (!is_inside(corner[i]) || !is_inside(corner[(i + 1) % 4])) continue;
      canvas_.line(apex, corner[i], 1.0f, color);
      canvas_.line(corner[i], corner[(i + 1) % 4], 1.0f, color);
    }
    canvas_.dot(apex, 2.5f, color);
  }

  void outline() {
    const float left = static_cast<float>(left_px_) + 1, size = static_cast<float>(kPanelPx) - 2;
    const Vec2f corner[4] = {{left, 1}, {left + size, 1}, {left + size, 1 + size}, {left, 1 + size}};
    for (int i = 0; i < 4; ++i) canvas_.line(corner[i], corner[(i + 1) % 4], 1.0f, kFrame);
  }

  Canvas& canvas_;
  int left_px_;
  Vec3f right_, up_;
  Vec2f middle_{0, 0};
  float scale_ = 1, frustum_length_ = 1;
};

}  // namespace

Image draw_scene(const Scene& scene) {
  Canvas canvas(2 * kPanelPx + kGapPx, kPanelPx, kPaper);
  const Axes axes = upright_axes(scene.views);
  Panel(canvas, 0, axes.right, -axes.back, scene).draw(scene);               // from above
  Panel(canvas, kPanelPx + kGapPx, axes.right, axes.up, scene).draw(scene);  // from the side
  return canvas.image();
}

}  // namespace stipple
