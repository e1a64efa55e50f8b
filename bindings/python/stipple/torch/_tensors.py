# SPDX-License-Identifier: Apache-2.0
"""What is asked of tensors, and where they are."""
from __future__ import annotations

from typing import Any, Optional, Sequence

import torch

from .._checks import check_shape

_ALIGNMENT = 16  # bytes; a GPU loads that many at once


def check_tensor(
    name: str, value: Any, wanted: Sequence[Any], like: Optional[torch.Tensor], dtype: torch.dtype
) -> None:
    """TypeError or ValueError, with the argument's name, unless it is such a tensor, and where `like` is."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(value).__name__}")
    if value.dtype != dtype:
        hint = ', or use backend="reference"' if value.dtype == torch.float64 else ""
        raise TypeError(f"{name} must be {_name(dtype)}, not {_name(value.dtype)}{hint}")
    if value.layout != torch.strided:
        raise TypeError(f"{name} must be dense, not {value.layout}")
    check_shape(name, value.shape, wanted)
    if like is not None and value.device != like.device:
        raise ValueError(f"{name} is on {value.device}, but means is on {like.device}; move it there")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).replace("torch.", "")


def packed(tensor: torch.Tensor) -> torch.Tensor:
    """Its values without gaps, where a GPU can load them; itself if they already are."""
    tensor = tensor.detach().contiguous()
    return tensor if tensor.data_ptr() % _ALIGNMENT == 0 else tensor.clone()


def address(tensor: Optional[torch.Tensor]) -> int:
    """Where its values are; 0 for none."""
    return 0 if tensor is None else tensor.data_ptr()


def backend_of(tensor: torch.Tensor) -> str:
    """The backend that works where the tensor is."""
    kind = tensor.device.type
    if kind == "cpu":
        return "cpu"
    if kind == "cuda":
        if tensor.device.index not in (None, 0):
            raise ValueError(f"means is on {tensor.device}; stipple uses the first GPU: move tensors to cuda:0")
        return "cuda"
    raise ValueError(f"means is on {kind}; stipple works on cpu and cuda tensors")


def stream_of(tensor: torch.Tensor) -> int:
    """The stream that torch queues work on such tensors on."""
    return torch.cuda.current_stream(tensor.device).cuda_stream if tensor.device.type == "cuda" else 0
