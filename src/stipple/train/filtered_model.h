// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/backend.h"

namespace stipple {

// Makes a 3D filter a part of the scales and opacities, so that the model looks without the filter as it did
// with it. `scale_modifier` is that of the renders. An empty filter changes nothing.
void apply_filter(std::span<const float> filter_variance, float scale_modifier, std::span<Vec3f> log_scale,
                  std::span<float> logit_opacity);

// The reverse, for a model that already shows what it is to show with the filter: apply_filter() gives it
// back as far as a filter can. It makes nothing thinner than the filter, and flat Gaussians that are opaque
// come out a little thicker or fainter than they were.
void remove_filter(std::span<const float> filter_variance, float scale_modifier, std::span<Vec3f> log_scale,
                   std::span<float> logit_opacity);

// An array over the memory of another one, which must outlive it and not change before it; a copy if the
// device cannot borrow. It is only to be read.
template <class T>
DeviceArray<T> borrowed(Backend& backend, const DeviceArray<T>& from) {
  MemoryBorrower* borrower = backend.borrower();
  if (!borrower || from.empty()) return from.copy(backend);
  Memory& memory = const_cast<Memory&>(*from.memory());
  return DeviceArray<T>::over(*borrower, static_cast<T*>(borrower->address_of(memory)), from.size());
}

// The same as apply_filter() on the device. The other arrays are borrowed from the model, which must outlive
// the result and not change before it.
DeviceGaussians filtered_model(Backend& backend, const DeviceGaussians& model,
                               const DeviceArray<float>& filter_variance, float scale_modifier);

}  // namespace stipple
