// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything a program that uses the library needs.
#include "stipple/backend/backend.h"
#include "stipple/backend/render.h"
#include "stipple/core/camera.h"
#include "stipple/core/error.h"
#include "stipple/core/gaussians.h"
#include "stipple/core/image.h"
#include "stipple/io/camera_file.h"
#include "stipple/io/image_file.h"
#include "stipple/io/npy.h"
#include "stipple/io/ply.h"
#include "stipple/scene/camera_path.h"
#include "stipple/scene/check_scene.h"
#include "stipple/scene/photo_cache.h"
#include "stipple/scene/scene.h"
#include "stipple/synth/synth.h"
