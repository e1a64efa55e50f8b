# SPDX-License-Identifier: Apache-2.0
"""Argument checks with error messages that name the argument."""
from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np


def shape_text(shape: Sequence[Any]) -> str:
    """A shape in the notation of the documentation: (N, 3)."""
    parts = [str(n) for n in shape]
    return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"


def short_text(text: Any, limit: int = 40) -> str:
    """The text on one line, with the middle left out if it is longer than `limit`; for reprs."""
    line = " ".join(str(text).split())
    half = (limit - 3) // 2
    return line if len(line) <= limit else f"{line[:half]}...{line[-half:]}"


def check_shape(name: str, shape: Sequence[int], wanted: Sequence[Any]) -> None:
    """Raises ValueError unless the shapes agree; strings in `wanted` stand for any size."""
    fits = len(shape) == len(wanted) and all(isinstance(w, str) or w == n for n, w in zip(shape, wanted))
    if not fits:
        raise ValueError(f"{name} must have the shape {shape_text(wanted)}, not {shape_text(shape)}")


def host_array(value: Any) -> np.ndarray:
    """The value as an array of any type. Tensors are detached and copied to the host."""
    return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)


def float_array(name: str, value: Any, *wanted: Any) -> np.ndarray:
    """The value as a contiguous float32 array of that shape. Raises TypeError unless it holds real numbers."""
    array = host_array(value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must hold numbers, not {array.dtype}")
    check_shape(name, array.shape, wanted)
    return np.ascontiguousarray(array, dtype=np.float32)


def sh_degree_of(name: str, count: int) -> int:
    """The degree of spherical harmonics with that number of coefficients."""
    for degree in range(4):
        if count == (degree + 1) ** 2:
            return degree
    raise ValueError(f"{name} must have 1, 4, 9 or 16 coefficients, not {count}")


def positive_int(name: str, value: Any) -> int:
    """The width or height of an image: at least 1, with an upper limit that catches mistakes."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if number != value or not 1 <= number <= 65536:
        raise ValueError(f"{name} must be a whole number from 1 to 65536, not {value!r}")
    return number


def real_number(name: str, value: Any) -> float:
    """The value as a float, which may be infinite or NaN."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None


def finite_number(name: str, value: Any) -> float:
    """The value as a float that is neither infinite nor NaN."""
    number = real_number(name, value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, not {number}")
    return number


def image_array(name: str, value: Any) -> np.ndarray:
    """An image with values from 0 to 1: (height, width), or with 1 to 4 channels. 8-bit values are divided by 255."""
    array = host_array(value)
    if array.dtype.kind in "iu" and array.dtype != np.uint8:
        raise TypeError(f"{name} must be 8-bit (uint8) or floating point, not {array.dtype}")
    wanted = ("height", "width") if array.ndim == 2 else ("height", "width", "channels")
    image = float_array(name, array, *wanted)
    if image.ndim == 3 and not 1 <= image.shape[2] <= 4:
        raise ValueError(f"{name} must have 1 to 4 channels, not {image.shape[2]}")
    if image.size == 0:
        raise ValueError(f"{name} has no pixels")
    return image / np.float32(255) if array.dtype == np.uint8 else image


def one_of(name: str, value: Any, choices: Sequence[Any]) -> Any:
    """The value. Raises ValueError unless it is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(repr(c) for c in choices)}, not {value!r}")
    return value
