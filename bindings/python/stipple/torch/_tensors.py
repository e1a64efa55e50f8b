# SPDX-License-Identifier: Apache-2.0
"""What is asked of tensors, and where they are."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence

import numpy as np
import torch

from .._checks import check_shape

_ALIGNMENT = 16  # bytes; a GPU loads that many at once


def check_tensor(
    name: str, value: Any, wanted: Sequence[Any], dtype: torch.dtype, has_reference: bool = False
) -> None:
    """TypeError or ValueError, with the argument's name, unless it is such a tensor."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(value).__name__}")
    if value.dtype != dtype:
        hint = ', or use backend="reference"' if has_reference and value.dtype == torch.float64 else ""
        raise TypeError(f"{name} must be {dtype_name(dtype)}, not {dtype_name(value.dtype)}{hint}")
    if value.layout != torch.strided:
        raise TypeError(f"{name} must be dense, not {value.layout}")
    check_shape(name, value.shape, wanted)


def dtype_name(dtype: torch.dtype) -> str:
    """float32, not torch.float32."""
    return str(dtype).replace("torch.", "")


def packed(tensor: torch.Tensor) -> torch.Tensor:
    """Its values without gaps, where a GPU can load them; itself if they already are."""
    tensor = tensor.detach().contiguous()
    return tensor if tensor.data_ptr() % _ALIGNMENT == 0 else tensor.clone()


def address(tensor: Optional[torch.Tensor]) -> int:
    """Where its values are; 0 for none."""
    return 0 if tensor is None else tensor.data_ptr()


def backend_of(tensor: torch.Tensor, name: str) -> str:
    """The backend that works where the tensor is."""
    kind = tensor.device.type
    if kind == "cpu":
        return "cpu"
    if kind == "cuda":
        return f"cuda:{tensor.device.index}" if tensor.device.index else "cuda"
    raise ValueError(f"{name} is on {kind}; stipple works on cpu and cuda tensors")


def stream_of(tensor: torch.Tensor) -> int:
    """The stream that torch queues work on such tensors on."""
    return torch.cuda.current_stream(tensor.device).cuda_stream if tensor.device.type == "cuda" else 0


def as_arrays(*tensors: torch.Tensor) -> List[np.ndarray]:
    """Small tensors as arrays. Each copy off a GPU waits for it, so that all of them go in one."""
    away = [t for t in tensors if t.device.type != "cpu"]
    if away:
        flat = torch.cat([t.detach().reshape(-1) for t in away]).cpu()
        fetched = iter(flat.split([t.numel() for t in away]))
    return [(t.detach() if t.device.type == "cpu" else next(fetched).view(t.shape)).numpy() for t in tensors]
