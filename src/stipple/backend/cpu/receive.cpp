// SPDX-License-Identifier: Apache-2.0
// receive: starts a view with splats that other ranks have projected. bin needs nothing else.
#include "stipple/backend/cpu/cpu_backend.h"

namespace stipple::cpu {

void CpuBackend::receive(const View&, const DeviceArray<ProjectedSplat>& splats, Pass& pass) {
  start_view(pass);
  pass.projection.splat = splats.copy(*this);
  pass.projection.visible.resize(*this, 0);
  cpu_pass(pass).clock.lap(Stage::kExchange);
}

}  // namespace stipple::cpu
