// SPDX-License-Identifier: Apache-2.0
// The loss of a picture and its gradient, over memory of others.
#include "bindings/python/src/bindings.h"
#include "bindings/python/src/shared_backend.h"

namespace stipple {

namespace {

// The picture is planar, the target 8-bit and interleaved; the gradient is planar.
float loss_over(const std::string& name, int width, int height, Address color, Address target, Address weight,
                float ssim_weight, Address dL_dcolor, Address stream) {
  return shared_backend(name)->use([&](Backend& backend) {
    const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    const OnStream order(backend, stream);
    Frame frame;
    frame.width_px = width;
    frame.height_px = height;
    frame.color = array_over<float>(backend, color, 3 * pixels);
    LossTarget photo;
    photo.color = array_over<std::uint8_t>(backend, target, 3 * pixels);
    photo.weight = array_over<float>(backend, weight, pixels);
    FrameGradient gradient;
    gradient.color = array_over<float>(backend, dL_dcolor, 3 * pixels);
    return backend.loss(frame, photo, ssim_weight, gradient).total;
  });
}

}  // namespace

void bind_loss(py::module_& module) { module.def("loss", &loss_over, NoLock()); }

}  // namespace stipple
