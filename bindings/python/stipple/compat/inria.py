# SPDX-License-Identifier: Apache-2.0
"""GaussianRasterizer and its settings, with the interface of the first implementation (diff-gaussian-rasterization)."""
from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np
import torch

from .._checks import check_shape, finite_number, positive_int
from ..camera import NEAR_PLANE
from ..torch import rasterize
from ..torch._tensors import as_arrays


_NAMES = {
    "means": "means3D",
    "quats": "rotations",
    "covariances": "cov3D_precomp",
    "background": "bg",
    "camera_from_world": "viewmatrix",
}
# Relative tolerance of the settings' consistency checks. Scripts multiply the matrices in float32, some of them on
# tensor cores (TF32), which round each factor to 11 significant bits.
_TOLERANCE = 1e-3


class GaussianRasterizationSettings(NamedTuple):
    """One camera and its render options.

    viewmatrix and projmatrix act on row vectors: viewmatrix is the transpose of camera_from_world, and projmatrix is
    viewmatrix times the transposed projection. Both may be (4, 4) or (1, 4, 4). The principal point comes from
    projmatrix, or is the image centre if that is None. Settings that contradict each other raise ValueError.
    campos may be None, since it follows from viewmatrix; prefiltered and debug have no effect. If antialiasing is True
    or False, the rasterizer returns a third result, as the later versions that have this option do.
    """

    image_height: int
    image_width: int
    tanfovx: float
    tanfovy: float
    bg: torch.Tensor
    scale_modifier: float
    viewmatrix: torch.Tensor
    projmatrix: Optional[torch.Tensor]
    sh_degree: int
    campos: Optional[torch.Tensor]
    prefiltered: bool
    debug: bool
    antialiasing: Optional[bool] = None

    def __repr__(self) -> str:
        return f"GaussianRasterizationSettings({self.image_width}x{self.image_height}, sh_degree={self.sh_degree})"


class GaussianRasterizer(torch.nn.Module):
    """Renders the images of one camera."""

    def __init__(self, raster_settings: GaussianRasterizationSettings) -> None:
        super().__init__()
        self.raster_settings = raster_settings

    def markVisible(self, positions: torch.Tensor) -> torch.Tensor:  # noqa: N802, the original's name
        """Returns whether each point lies in front of the camera, beyond the near plane."""
        check_shape("positions", positions.shape, ("N", 3))
        with torch.no_grad():
            view = _one("viewmatrix", self.raster_settings.viewmatrix, 4, 4).to(positions.device)
            return positions @ view[:3, 2] + view[3, 2] > NEAR_PLANE

    def forward(
        self,
        means3D: torch.Tensor,
        means2D: Optional[torch.Tensor],
        opacities: torch.Tensor,
        shs: Optional[torch.Tensor] = None,
        colors_precomp: Optional[torch.Tensor] = None,
        scales: Optional[torch.Tensor] = None,
        rotations: Optional[torch.Tensor] = None,
        cov3D_precomp: Optional[torch.Tensor] = None,
    ) -> Tuple[torch.Tensor, ...]:
        """Returns the image (3, height, width) and the radii (N,) in pixels, 0 for Gaussians that are not visible; if
        antialiasing is given, also the expected inverse depth (1, height, width). means2D receives the gradient with
        respect to the screen positions, in units of half the image size."""
        s = self.raster_settings
        if (shs is None) == (colors_precomp is None):
            raise ValueError("give either shs or colors_precomp")
        if ((scales is None or rotations is None) and cov3D_precomp is None) or (
            (scales is not None or rotations is not None) and cov3D_precomp is not None
        ):
            raise ValueError("give either scales and rotations, or cov3D_precomp")
        check_shape("means3D", means3D.shape, ("N", 3))
        if opacities.ndim == 2:
            check_shape("opacities", opacities.shape, (len(means3D), 1))
            opacities = opacities[:, 0]
        colors = colors_precomp
        if shs is not None:
            count = (s.sh_degree + 1) ** 2
            if shs.ndim != 3 or shs.shape[1] < count:
                check_shape("shs", shs.shape, (len(means3D), count, 3))
            colors = shs[:, :count]
        uses_direction = shs is not None and s.sh_degree > 0
        result = rasterize(
            means3D,
            rotations,
            scales,
            opacities,
            colors,
            _one("viewmatrix", s.viewmatrix, 4, 4).T,
            torch.tensor(_intrinsics(s, uses_direction), dtype=means3D.dtype),
            s.image_width,
            s.image_height,
            background=s.bg,
            covariances=cov3D_precomp,
            depth=None if s.antialiasing is None else "inverse",
            antialiased=bool(s.antialiasing),
            scale_modifier=s.scale_modifier,
            means2d=self._screen_means(means2D, len(means3D)),
            _names=_NAMES,
        )
        image = result.color.permute(2, 0, 1)
        radii = result.info.radii.amax(-1).int() if len(means3D) else result.info.radii.new_zeros(0).int()
        return (image, radii) if result.depth is None else (image, radii, result.depth[None])

    def _screen_means(self, means2D: Optional[torch.Tensor], count: int) -> Optional[torch.Tensor]:
        """Converts means2D, in units of half the image size, to pixels."""
        if means2D is None:
            return None
        check_shape("means2D", means2D.shape, (count, 3))
        s = self.raster_settings
        half = torch.tensor([s.image_width / 2, s.image_height / 2], dtype=means2D.dtype, device=means2D.device)
        return means2D[:, :2] * half


def _one(name: str, value: Any, *shape: int) -> torch.Tensor:
    """A tensor of that shape; scripts also give it with a leading dimension of 1."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(value).__name__}")
    if tuple(value.shape) == (1, *shape):
        return value[0]
    check_shape(name, value.shape, shape)
    return value


def _intrinsics(s: GaussianRasterizationSettings, uses_direction: bool) -> List[List[float]]:
    """K, from projmatrix and the field of view.

    With the projection P = (inverse(viewmatrix) @ projmatrix)^T, a point (x, y, z) of the camera frame has the
    normalised device coordinate ndc_x = P[0][0] x/z + P[0][2]. The original puts it at ((ndc_x + 1) width - 1) / 2,
    with pixel centres at integers; here they are at half-integers, so that
    u = (ndc_x + 1) width / 2 = fx x/z + cx with fx = P[0][0] width / 2 and cx = (P[0][2] + 1) width / 2.
    """
    given = [_one("viewmatrix", s.viewmatrix, 4, 4)]
    given += [] if s.projmatrix is None else [_one("projmatrix", s.projmatrix, 4, 4)]
    given += [] if s.campos is None else [_one("campos", s.campos, 3)]
    view, *others = (a.astype(np.float64) for a in as_arrays(*given))
    if not all(np.isfinite(a).all() for a in (view, *others)):
        raise ValueError("viewmatrix, projmatrix and campos must be finite")
    if np.abs(view[:, 3] - [0, 0, 0, 1]).max() > _TOLERANCE:
        raise ValueError("the last column of viewmatrix must be (0, 0, 0, 1)")
    if np.linalg.matrix_rank(view[:3, :3]) < 3:
        raise ValueError("viewmatrix must be invertible")
    if s.campos is not None and uses_direction:
        _check_campos(view, others[-1])
    tangents = [finite_number("tanfovx", s.tanfovx), finite_number("tanfovy", s.tanfovy)]
    if min(tangents) <= 0:
        raise ValueError(f"tanfovx and tanfovy must be greater than 0, not {tangents[0]} and {tangents[1]}")
    offsets = [0.0, 0.0] if s.projmatrix is None else _center_offsets(view, others[0], tangents)
    half_x, half_y = positive_int("image_width", s.image_width) / 2, positive_int("image_height", s.image_height) / 2
    return [
        [half_x / tangents[0], 0, half_x * (1 + offsets[0])],
        [0, half_y / tangents[1], half_y * (1 + offsets[1])],
        [0, 0, 1],
    ]


def _center_offsets(view: np.ndarray, full: np.ndarray, tangents: List[float]) -> List[float]:
    """P[0][2] and P[1][2]: the principal point's distance from the image centre, in units of half the image size.
    Raises ValueError if projmatrix, which the original applies to means, contradicts viewmatrix and the tangents."""
    projection = np.linalg.solve(view, full).T
    for axis, (name, tangent) in enumerate(zip(("tanfovx", "tanfovy"), tangents)):
        if not abs(projection[axis, axis] * tangent - 1) <= _TOLERANCE:
            raise ValueError(
                f"{name} is {tangent:.6g}, but {name[-1]} of projmatrix is scaled by {projection[axis, axis]:.6g} "
                f"and not by 1 / {name} = {1 / tangent:.6g}"
            )
        skew = projection[axis, 1 - axis]
        if abs(skew) > _TOLERANCE * projection[axis, axis]:
            raise ValueError(f"projmatrix has a skew of {skew:.6g}: skew is not supported")
    pinhole = np.zeros((4, 4))
    pinhole[:2, :3] = projection[:2, :3]
    pinhole[3, 2] = 1
    drawn = [0, 1, 3]  # the clip depth, column 2, does not affect the image
    expected, bound = (view @ pinhole.T)[:, drawn], (np.abs(view) @ np.abs(pinhole).T)[:, drawn]
    if np.any(np.abs(full[:, drawn] - expected) > 2 * _TOLERANCE * bound + 1e-6):
        raise ValueError(
            "projmatrix must be viewmatrix times a transposed projection whose last row is (0, 0, 1, 0)"
        )
    return projection[:2, 2].tolist()


def _check_campos(view: np.ndarray, campos: np.ndarray) -> None:
    center = np.linalg.inv(view)[3, :3]
    if np.linalg.norm(campos - center) > _TOLERANCE * np.linalg.norm(view[3, :3]) + 1e-5:
        found, wanted = (", ".join(f"{v:.6g}" for v in vector) for vector in (campos, center))
        raise ValueError(f"campos is ({found}), but the camera of viewmatrix is at ({wanted})")
