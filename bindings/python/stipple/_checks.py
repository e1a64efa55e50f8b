# SPDX-License-Identifier: Apache-2.0
"""Sentences for arguments that are not what they should be."""
from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np


def shape_text(shape: Sequence[Any]) -> str:
    """A shape as people write it: (N, 3)."""
    parts = [str(n) for n in shape]
    return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"


def check_shape(name: str, shape: Sequence[int], wanted: Sequence[Any]) -> None:
    """ValueError unless the shapes agree; letters in `wanted` stand for any size."""
    fits = len(shape) == len(wanted) and all(isinstance(w, str) or w == n for n, w in zip(shape, wanted))
    if not fits:
        raise ValueError(f"{name} must have the shape {shape_text(wanted)}, not {shape_text(shape)}")


def host_array(value: Any) -> np.ndarray:
    """value as an array, of whatever; a tensor's gradients and device do not matter."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def float_array(name: str, value: Any, *wanted: Any) -> np.ndarray:
    """value as a contiguous float32 array of that shape; what holds no real numbers is a TypeError."""
    array = host_array(value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must hold numbers, not {array.dtype}")
    check_shape(name, array.shape, wanted)
    return np.ascontiguousarray(array, dtype=np.float32)


def sh_degree_of(name: str, count: int) -> int:
    """The degree that has so many coefficients."""
    for degree in range(4):
        if count == (degree + 1) ** 2:
            return degree
    raise ValueError(f"{name} must have 1, 4, 9 or 16 coefficients, not {count}")


def positive_int(name: str, value: Any) -> int:
    """A picture's side: at least 1, and not so large that it must be a mistake."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if number != value or not 1 <= number <= 65536:
        raise ValueError(f"{name} must be a whole number from 1 to 65536, not {value!r}")
    return number


def real_number(name: str, value: Any) -> float:
    """One number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None


def finite_number(name: str, value: Any) -> float:
    """One number that is neither infinite nor none."""
    number = real_number(name, value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number}")
    return number


def picture_array(name: str, value: Any) -> np.ndarray:
    """A picture as values from 0 to 1: (height, width), or with 1 to 4 channels. One of 8 bits is divided by 255."""
    array = host_array(value)
    if array.dtype.kind in "iu" and array.dtype != np.uint8:
        raise TypeError(f"{name} must be of 8 bits (uint8) or of real numbers, not {array.dtype}")
    wanted = ("height", "width") if array.ndim == 2 else ("height", "width", "channels")
    picture = float_array(name, array, *wanted)
    if picture.ndim == 3 and not 1 <= picture.shape[2] <= 4:
        raise ValueError(f"{name} must have 1 to 4 channels, not {picture.shape[2]}")
    if picture.size == 0:
        raise ValueError(f"{name} has no pixels")
    return picture / np.float32(255) if array.dtype == np.uint8 else picture


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """value, if it is one of them."""
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(repr(c) for c in choices)}, not {value!r}")
    return value
