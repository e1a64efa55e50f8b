// SPDX-License-Identifier: Apache-2.0
// A view and the Gaussians of a window, as parameters (ViewParameters in vulkan_backend.h).
#define VIEW_PARAMETERS                                                             \
  float camera_values[18]; /* rotation, translation, focal lengths, centre, size */ \
  float near_plane;                                                                 \
  float blur_px2;                                                                   \
  float scale_modifier;                                                             \
  float alpha_max;                                                                  \
  uint antialiased;                                                                 \
  uint inverse_depth;                                                               \
  uint dropout_seed_low;                                                            \
  uint dropout_seed_high;                                                           \
  uint dropout_threshold;                                                           \
  uint dropout_first;                                                               \
  float dropout_kept_factor;                                                        \
  uint first_gaussian; /* of the window: arrays start there */                      \
  uint count;          /* of the window */                                          \
  int column_count;    /* of tiles */                                               \
  int row_begin;       /* of the band */                                            \
  int row_end;

#define DEFINE_VIEW_FUNCTIONS                                                                                       \
  Pinhole view_camera() {                                                                                           \
    Pinhole c;                                                                                                      \
    for (int i = 0; i < 9; ++i) c.rotation[i / 3][i % 3] = camera_values[i];                                        \
    c.translation = vec3(camera_values[9], camera_values[10], camera_values[11]);                                   \
    c.focal_px = vec2(camera_values[12], camera_values[13]);                                                        \
    c.center_px = vec2(camera_values[14], camera_values[15]);                                                       \
    c.size_px = vec2(camera_values[16], camera_values[17]);                                                         \
    return c;                                                                                                       \
  }                                                                                                                 \
  RenderSettings view_settings() {                                                                                  \
    RenderSettings s;                                                                                               \
    s.near_plane = near_plane;                                                                                      \
    s.blur_px2 = blur_px2;                                                                                          \
    s.scale_modifier = scale_modifier;                                                                              \
    s.alpha_max = alpha_max;                                                                                        \
    s.antialiased = antialiased != 0u;                                                                              \
    s.inverse_depth = inverse_depth != 0u;                                                                          \
    return s;                                                                                                       \
  }                                                                                                                 \
  Dropout view_dropout() {                                                                                          \
    Dropout d;                                                                                                      \
    d.seed_low = dropout_seed_low;                                                                                  \
    d.seed_high = dropout_seed_high;                                                                                \
    d.threshold = dropout_threshold;                                                                                \
    d.first = dropout_first;                                                                                        \
    d.kept_factor = dropout_kept_factor;                                                                            \
    return d;                                                                                                       \
  }
