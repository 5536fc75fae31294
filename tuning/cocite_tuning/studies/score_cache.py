"""The scores that all trials of a study share, computed once and published as an artifact."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import load_array, publish
from cocite.errors import NotFoundError
from cocite.manifests import Manifest, holds, read_json
from cocite.verification import open_verified_once


class ScoreCache:
    """Arrays in a folder whose name is a digest of everything that they depend on.

    Args:
        shared: the folder that holds caches, each in a subfolder.
        kind: of the study.
        meta: everything that the arrays depend on, as JSON values.

    Attributes:
        folder: of this cache.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as shared:
        ...     cache = ScoreCache(Path(shared), "toy", {"seed": 1})
        ...     with cache.build() as (folder, meta):
        ...         save_arrays(folder, {"scores": np.arange(3)})
        ...         meta["queries"] = 3
        ...     same = ScoreCache(Path(shared), "toy", {"seed": 1})
        ...     same.is_complete(), same.meta["queries"], same.array("scores").tolist()
        (True, 3, [0, 1, 2])
    """

    def __init__(self, shared: Path, kind: str, meta: Mapping[str, Any]) -> None:
        self._kind, self._depends_on = f"{kind}-scores", dict(meta)
        digest = hashlib.sha256(json.dumps(self._depends_on, sort_keys=True).encode()).hexdigest()[:12]
        self.folder = shared / f"{kind}-{digest}"

    @classmethod
    def published(cls, folder: Path, kind: str) -> ScoreCache:
        """A complete cache by its folder, where what it depends on need not be."""
        cache = cls(folder.parent, kind, {})
        cache.folder = folder
        return cache

    def is_complete(self) -> bool:
        """Whether the folder holds a published cache of these dependencies."""
        return holds(self.folder, kind=self._kind, meta=self._depends_on)

    @contextmanager
    def build(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Publish the cache when the block ends.

        Yields:
            A folder for the files, and the manifest's metadata, to which the block may add.
        """
        meta = dict(self._depends_on)
        with publish(self.folder, kind=self._kind, meta=meta, replace=self.folder.exists()) as folder:
            yield folder, meta

    @property
    def meta(self) -> Mapping[str, Any]:
        """The metadata of the published cache."""
        return self._manifest.meta

    def array(self, name: str) -> NDArray[Any]:
        """An array of the cache, memory-mapped: all processes of a machine share one copy."""
        assert self._manifest  # verified
        return load_array(self.folder / f"{name}.npy")

    def json(self, name: str) -> Any:
        """The content of a JSON file of the cache."""
        assert self._manifest  # verified
        return read_json(self.folder / name)

    @cached_property
    def _manifest(self) -> Manifest:
        if not self.folder.is_dir():
            raise NotFoundError(
                "the scores that all trials share are not there", where=str(self.folder), hint="prepare first"
            )
        return open_verified_once(self.folder, kind=self._kind)


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to ``NAME.npy`` in a folder."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
