# SPDX-License-Identifier: Apache-2.0
"""A small training scene: rendered images of a few hundred Gaussians."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
from conftest import cloud

import stipple

WIDTH, HEIGHT, FOCAL = 48, 40, 55.0
CENTER = (WIDTH / 2, HEIGHT / 2 + 1)  # off-centre, so that mistakes show


def small_model() -> stipple.Gaussians:
    """300 Gaussians around the origin."""
    model = cloud(300, sh_degree=1, seed=5)
    model.mean[:, 2] -= 4
    return model


def world_from_camera(angle: float) -> np.ndarray:
    """The pose of a camera on a circle of radius 4 around the origin, looking at the origin."""
    s, c = np.sin(angle), np.cos(angle)
    return np.array([[c, 0, s, -4 * s], [0, 1, 0, 0], [-s, 0, c, -4 * c], [0, 0, 0, 1]])


def write_points(positions: np.ndarray, path: Path) -> None:
    """Writes a .ply file with points."""
    header = ["ply", "format ascii 1.0", f"element vertex {len(positions)}"]
    header += [f"property float {axis}" for axis in "xyz"] + ["end_header"]
    rows = [" ".join(f"{v:.6f}" for v in p) for p in positions]
    path.write_text("\n".join(header + rows) + "\n")


def write_scene(model: stipple.Gaussians, folder: Path, view_count: int = 12) -> None:
    """Writes a transforms.json scene with rendered images of the model and a point at every mean."""
    folder.mkdir()
    frames: List[Dict[str, Any]] = []
    for i in range(view_count):
        pose = world_from_camera(0.08 * (i - view_count / 2))
        camera = stipple.Camera(np.linalg.inv(pose), FOCAL, FOCAL, *CENTER, WIDTH, HEIGHT)
        stipple.save_png(stipple.render(model, camera, backend="cpu").color, folder / f"{i:02}.png")
        looking_along_minus_z = pose @ np.diag([1, -1, -1, 1])
        frames.append({"file_path": f"{i:02}.png", "transform_matrix": looking_along_minus_z.tolist()})
    write_points(model.mean, folder / "points.ply")
    intrinsics = {"w": WIDTH, "h": HEIGHT, "fl_x": FOCAL, "fl_y": FOCAL, "cx": CENTER[0], "cy": CENTER[1]}
    scene = {**intrinsics, "ply_file_path": "points.ply", "frames": frames}
    (folder / "transforms.json").write_text(json.dumps(scene))
