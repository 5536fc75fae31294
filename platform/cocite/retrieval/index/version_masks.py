"""The marks of papers in an index version: whose links are known, and which are not removed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.errors import IntegrityError


def load_mask(path: Path, count: int) -> NDArray[np.bool_]:
    """(N,) the marks in a file.

    Raises:
        IntegrityError: they are not ``count`` marks.
    """
    mask = load_array(path, mapped=False)
    if mask.shape != (count,) or mask.dtype != bool:
        raise IntegrityError(f"{mask.dtype} {mask.shape} where {count} marks belong", where=str(path))
    return np.asarray(mask, bool)
