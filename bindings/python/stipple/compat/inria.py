# SPDX-License-Identifier: Apache-2.0
"""GaussianRasterizer and its settings, called and answering as those of the first implementation do."""
from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

import torch

from .._checks import check_shape
from ..camera import NEAR_PLANE
from ..torch import rasterize


_NAMES = {
    "means": "means3D",
    "quats": "rotations",
    "covariances": "cov3D_precomp",
    "background": "bg",
    "camera_from_world": "viewmatrix",
}


class GaussianRasterizationSettings(NamedTuple):
    """viewmatrix is world_view_transform, that is the transpose of camera_from_world. projmatrix and campos follow
    from the rest and are not looked at; neither are prefiltered and debug. With antialiasing given, true or false,
    there is a third result, as in the later versions that have it."""

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


class GaussianRasterizer(torch.nn.Module):
    """One camera's pictures."""

    def __init__(self, raster_settings: GaussianRasterizationSettings) -> None:
        super().__init__()
        self.raster_settings = raster_settings

    def markVisible(self, positions: torch.Tensor) -> torch.Tensor:  # noqa: N802, the name is theirs
        """Which points lie in front of the camera, beyond the near plane."""
        check_shape("positions", positions.shape, ("N", 3))
        with torch.no_grad():
            view = self.raster_settings.viewmatrix.to(positions.device)
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
        """The picture (3, height, width) and the radii (N,) in pixels, 0 where nothing is seen; with antialiasing
        given, also the expected inverse depth (1, height, width). means2D gets its gradient in half picture sizes."""
        s = self.raster_settings
        if (shs is None) == (colors_precomp is None):
            raise ValueError("give either shs or colors_precomp, not both and not neither")
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
        result = rasterize(
            means3D,
            rotations,
            scales,
            opacities,
            colors,
            s.viewmatrix.T,
            self._intrinsics(means3D),
            s.image_width,
            s.image_height,
            background=s.bg,
            covariances=cov3D_precomp,
            depth=None if s.antialiasing is None else "inverse",
            antialiased=bool(s.antialiasing),
            scale_modifier=s.scale_modifier,
            means2d=self._places(means2D, len(means3D)),
            _names=_NAMES,
        )
        picture = result.color.permute(2, 0, 1)
        radii = result.info.radii.amax(-1).int() if len(means3D) else result.info.radii.new_zeros(0).int()
        return (picture, radii) if result.depth is None else (picture, radii, result.depth[None])

    def _intrinsics(self, like: torch.Tensor) -> torch.Tensor:
        s = self.raster_settings
        fx, fy = s.image_width / (2 * s.tanfovx), s.image_height / (2 * s.tanfovy)
        return torch.tensor(
            [[fx, 0, s.image_width / 2], [0, fy, s.image_height / 2], [0, 0, 1]], dtype=like.dtype, device=like.device
        )

    def _places(self, means2D: Optional[torch.Tensor], count: int) -> Optional[torch.Tensor]:
        """Pixels from what gets its gradient in half picture sizes."""
        if means2D is None:
            return None
        check_shape("means2D", means2D.shape, (count, 3))
        s = self.raster_settings
        half = torch.tensor([s.image_width / 2, s.image_height / 2], dtype=means2D.dtype, device=means2D.device)
        return means2D[:, :2] * half
