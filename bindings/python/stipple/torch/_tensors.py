# SPDX-License-Identifier: Apache-2.0
"""Checks of tensors, and their memory."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence

import numpy as np
import torch

from .._checks import check_shape

_ALIGNMENT = 16  # in bytes; the width of a vector load on a GPU


def check_tensor(
    name: str, value: Any, wanted: Sequence[Any], dtype: torch.dtype, has_reference: bool = False
) -> None:
    """Raises TypeError or ValueError unless the value is a dense tensor of that type and shape."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(value).__name__}")
    if value.dtype != dtype:
        hint = ', or use backend="reference"' if has_reference and value.dtype == torch.float64 else ""
        raise TypeError(f"{name} must be {dtype_name(dtype)}, not {dtype_name(value.dtype)}{hint}")
    if value.layout != torch.strided:
        raise TypeError(f"{name} must be dense, not {value.layout}")
    check_shape(name, value.shape, wanted)


def dtype_name(dtype: torch.dtype) -> str:
    """The name without the module: float32."""
    return str(dtype).replace("torch.", "")


def packed(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, contiguous and aligned; a copy only if it is not."""
    tensor = tensor.detach().contiguous()
    return tensor if tensor.data_ptr() % _ALIGNMENT == 0 else tensor.clone()


def address(tensor: Optional[torch.Tensor]) -> int:
    """The address of the values, or 0 for None."""
    return 0 if tensor is None else tensor.data_ptr()


def backend_of(tensor: torch.Tensor, name: str) -> str:
    """The name of the backend for the tensor's device."""
    kind = tensor.device.type
    if kind == "cpu":
        return "cpu"
    if kind == "cuda":
        return f"cuda:{tensor.device.index}" if tensor.device.index else "cuda"
    raise ValueError(f"{name} is on {kind}; stipple works on cpu and cuda tensors")


def by_gaussian(rows: torch.Tensor, visible: torch.Tensor, count: int) -> torch.Tensor:
    """The rows of a view's splats as those of all Gaussians, with zeros for those that the view does not show.
    `visible` has the library's VisibleBlocks: a mask of 32 Gaussians and the row of the first one that is shown."""
    bits = visible[:, :1] >> torch.arange(32, dtype=torch.int32, device=visible.device)
    is_shown = (bits & 1).flatten()[:count].bool()
    row = is_shown.cumsum(0) - 1
    zero = torch.zeros((), dtype=rows.dtype, device=rows.device)
    return torch.where(is_shown[:, None], rows[row.clamp(min=0)], zero)


def stream_of(tensor: torch.Tensor) -> int:
    """The handle of torch's current stream on the tensor's device; 0 on the CPU."""
    return torch.cuda.current_stream(tensor.device).cuda_stream if tensor.device.type == "cuda" else 0


def as_arrays(*tensors: torch.Tensor) -> List[np.ndarray]:
    """Small tensors as arrays. Those on a GPU are fetched in one copy, since every copy waits for the GPU."""
    on_gpu = [t for t in tensors if t.device.type != "cpu"]
    if on_gpu:
        flat = torch.cat([t.detach().reshape(-1) for t in on_gpu]).cpu()
        fetched = iter(flat.split([t.numel() for t in on_gpu]))
    return [(t.detach() if t.device.type == "cpu" else next(fetched).view(t.shape)).numpy() for t in tensors]
