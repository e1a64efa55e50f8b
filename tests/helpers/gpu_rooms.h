// SPDX-License-Identifier: Apache-2.0
#pragma once
// The prediction of capacities that a GPU's backend keeps in a pass.
#include "stipple/backend/bin_room.h"
#include "stipple/backend/pass.h"

namespace stipple {

class Backend;

RoomPredictor& rooms_of(Backend& backend, Pass& pass);

}  // namespace stipple
