// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Includes everything that a program using the library needs.
#include "stipple/backend/backend.h"
#include "stipple/backend/render.h"
#include "stipple/camera/camera.h"
#include "stipple/core/error.h"
#include "stipple/core/gaussians.h"
#include "stipple/evaluate/evaluation.h"
#include "stipple/image/image.h"
#include "stipple/io/camera_file.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/npy.h"
#include "stipple/io/ply/ply.h"
#include "stipple/model/model_file.h"
#include "stipple/path/camera_path.h"
#include "stipple/path/key_path.h"
#include "stipple/photo/load_photo.h"
#include "stipple/scene/check_scene.h"
#include "stipple/scene/save_scene.h"
#include "stipple/scene/scene.h"
#include "stipple/synth/synth.h"
#include "stipple/train/trainer.h"
