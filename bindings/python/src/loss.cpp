// SPDX-License-Identifier: Apache-2.0
// The loss of an image and its gradient, in borrowed memory.
#include "bindings/python/src/bindings.h"
#include "bindings/python/src/shared_backend.h"

namespace stipple {

namespace {

// The image and its gradient are planar; the target is 8-bit and interleaved.
float loss_over(const std::string& name, int width, int height, Address color, Address target, Address weight,
                float ssim_weight, Address dL_dcolor, Address stream) {
  return shared_backend(name)->use([&](Backend& backend) {
    const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    const OnStream order(backend, stream);
    Pass pass;
    pass.frame.width_px = width;
    pass.frame.height_px = height;
    pass.frame.color = array_over<float>(backend, color, 3 * pixels);
    LossTarget photo;
    photo.color = array_over<std::uint8_t>(backend, target, 3 * pixels);
    photo.weight = array_over<float>(backend, weight, pixels);
    pass.dL_dframe.color = array_over<float>(backend, dL_dcolor, 3 * pixels);
    backend.loss(View{}, photo, {.l1_weight = 1 - ssim_weight, .ssim_weight = ssim_weight}, pass);
    return backend.read(pass).views[0].loss.total;
  });
}

}  // namespace

void bind_loss(py::module_& module) { module.def("loss", &loss_over, NoLock()); }

}  // namespace stipple
