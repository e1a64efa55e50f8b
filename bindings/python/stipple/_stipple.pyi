# SPDX-License-Identifier: Apache-2.0
# The public part of the module; everything else is internal to the package.
from typing import Any, Dict, List

import numpy as np

version: str

class Error(RuntimeError): ...
class OutOfMemory(Error, MemoryError): ...

class Projection:
    splat: np.ndarray

class TileBins:
    slot_begin_from_tile: np.ndarray
    gaussian_from_slot: np.ndarray
    @property
    def column_count(self) -> int: ...
    @property
    def row_count(self) -> int: ...

class Frame:
    color: np.ndarray
    transmittance: np.ndarray
    depth: np.ndarray
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...

class FrameGradient:
    color: np.ndarray
    def __init__(self, frame: Frame, color: np.ndarray, alpha: np.ndarray, depth: np.ndarray) -> None: ...

class SplatGradient:
    splat: np.ndarray
    absolute_mean_px: np.ndarray
    @property
    def background(self) -> List[float]: ...

class Moments: ...

class StepReport:
    @property
    def step(self) -> int: ...
    @property
    def loss(self) -> float: ...
    @property
    def psnr(self) -> float: ...
    @property
    def gaussian_count(self) -> int: ...
    @property
    def was_skipped(self) -> bool: ...
    @property
    def milliseconds(self) -> Dict[str, float]: ...

def __getattr__(name: str) -> Any: ...
