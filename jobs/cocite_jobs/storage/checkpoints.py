"""Checkpoints kept elsewhere: in S3, GCS, or whatever else has a URI."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from cocite.errors import CociteError, IntegrityError
from cocite.manifests import MANIFEST
from cocite.training.engine.stores import Write
from cocite.training.engine.world import World
from cocite_jobs.storage.location import Location

T = TypeVar("T")


class RemoteStore:
    """A :class:`cocite.training.engine.stores.Store` over a :class:`Location`, in the layout of ``FolderStore``.

    Each rank uploads what it wrote; when all have, rank 0 uploads the manifest, which is what makes it a checkpoint.
    On reading, the first rank of each machine downloads for all of them.
    """

    def __init__(self, place: Location, world: World, *, metric: str, keep: int = 2) -> None:
        self.place, self.world, self.metric, self.keep = place, world, metric, keep

    def latest(self) -> AbstractContextManager[Path | None]:
        """See ``Store``. Every byte is compared with the manifest, once on each machine."""
        return self._latest()

    @contextmanager
    def _latest(self) -> Iterator[Path | None]:
        name = self._together(lambda: (self.checkpoints() or [""])[-1])
        if not name:
            yield None
            return
        folder = self._shared(name)
        first = int(os.environ.get("LOCAL_RANK", "0")) == 0
        try:
            # Each machine's first rank downloads; a trouble of one is a trouble of all.
            self._everyone(lambda: self._fetch(name, folder) if first else None)
            yield folder
            self.world.barrier()
        finally:
            if first:
                shutil.rmtree(folder.parent, ignore_errors=True)

    def save(self, step: int, write: Write, metrics: Mapping[str, float]) -> None:  # noqa: ARG002 - in the manifest
        """See ``Store``."""
        place = self.place / f"step-{step:08d}"
        # One that is there was found wanting, or is made anew from an earlier one: its remains must not mix with ours.
        self._together(place.clear)
        with tempfile.TemporaryDirectory(prefix="cocite-checkpoint-") as temporary:
            folder = Path(temporary)
            write(folder)
            mine = [path.name for path in folder.iterdir() if path.name != MANIFEST]
            self._everyone(lambda: place.upload(folder, mine))
            self._together(lambda: place.upload(folder, [MANIFEST]))
        self._together(self._retain)

    def checkpoints(self) -> list[str]:
        """Names of the checkpoints there are, the oldest first."""
        names = [name for name in self.place.names() if name.startswith("step-")]
        return [name for name in names if MANIFEST in (self.place / name).names()]

    def _shared(self, name: str) -> Path:
        """A folder of this machine's, the same for all its ranks."""
        token: str = self._together(lambda: os.urandom(8).hex())
        return Path(tempfile.gettempdir()) / f"cocite-resume-{token}" / name

    def _fetch(self, name: str, folder: Path) -> None:
        """Download a checkpoint; of a damaged one it is told which earlier one is whole."""
        try:
            (self.place / name).get(folder)
        except IntegrityError as error:
            earlier = reversed([other for other in self.checkpoints() if other < name])
            whole = next((other for other in earlier if self._is_whole(other)), None)
            advice = (
                f"remove {name} to resume from {whole}, which is whole"
                if whole
                else f"no earlier checkpoint is whole: remove {name} to start over"
            )
            file = Path(error.where or name).name
            raise IntegrityError(
                error.message, where=f"{self.place.uri}/{name}/{file}", hint=advice
            ) from error

    def _is_whole(self, name: str) -> bool:
        with tempfile.TemporaryDirectory(prefix="cocite-checkpoint-") as temporary:
            try:
                (self.place / name).get(Path(temporary))
            except CociteError:
                return False
        return True

    def _retain(self) -> None:
        """Remove all but the best and the last, and what a writer that was killed has left behind."""
        whole = self.checkpoints()
        ranked = sorted(((self._value(name), name) for name in whole), reverse=True)
        kept = {name for value, name in ranked[: self.keep] if value > -math.inf} | set(whole[-1:])
        for name in self.place.names():
            if name.startswith("step-") and name not in kept:
                (self.place / name).clear()

    def _value(self, name: str) -> float:
        try:
            meta: Any = json.loads((self.place / name).read(MANIFEST) or b"{}")["meta"]
            return float(meta["metrics"].get(self.metric, -math.inf))
        except (ValueError, KeyError, TypeError, AttributeError):
            return -math.inf

    def _together(self, work: Callable[[], T]) -> T:
        """Let rank 0 do something, and tell all ranks its result; if it fails, every rank raises."""
        result: Any = None
        trouble: CociteError | None = None
        if self.world.first:
            try:
                result = work()
            except CociteError as error:
                trouble = error
        result, trouble = self.world.agree((result, trouble))
        if trouble is not None:
            raise trouble
        return result  # type: ignore[no-any-return]

    def _everyone(self, work: Callable[[], None]) -> None:
        """Let every rank do something; if one fails, every rank raises."""
        trouble: CociteError | None = None
        try:
            work()
        except CociteError as error:
            trouble = error
        first = next((other for other in self.world.collect(trouble) if other is not None), None)
        if first is not None:
            raise first
