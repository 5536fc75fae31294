"""Checkpoints in a remote file system: S3, GCS, or any other that has URIs."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from cocite.artifacts import publish
from cocite.errors import CociteError, IntegrityError, NotFoundError
from cocite.manifests import MANIFEST
from cocite.training.engine.kept_blocks import is_over
from cocite.training.engine.stores import Write, kind_of
from cocite.training.engine.world import World
from cocite_jobs.storage.location import Location

T = TypeVar("T")


class RemoteStore:
    """A :class:`~cocite.training.engine.stores.Store` over a :class:`Location`, in the layout of ``FolderStore``.

    Each rank uploads the files that it wrote. When all have, rank 0 uploads the manifest, which makes the folder a
    checkpoint. To resume, the first rank of each machine downloads a checkpoint for all ranks of that machine.

    Args:
        location: the folder of the checkpoints.
        world: this rank among the others.
        metric: the dev metric by which checkpoints are ranked; higher is better.
        keep: how many of the best are kept, besides the newest.

    Example:
        >>> from cocite.manifests import manifest_text
        >>> store = RemoteStore(Location.of("memory://example/run"), World(), metric="MRR", keep=1)
        >>> for step, value in [(10, 0.3), (20, 0.2), (30, 0.25)]:
        ...     text = manifest_text("checkpoint", {"metrics": {"MRR": value}}, {})
        ...     store.save(step, lambda folder: (folder / MANIFEST).write_text(text) and None, {"MRR": value})
        >>> store.checkpoints()
        ['step-00000010', 'step-00000030']
    """

    def __init__(self, location: Location, world: World, *, metric: str, keep: int = 2) -> None:
        self.location, self.world, self.metric, self.keep = location, world, metric, keep

    @property
    def place(self) -> Location:
        """See ``Store``."""
        return self.location

    def latest(self) -> AbstractContextManager[Path | None]:
        """See ``Store``. Every byte is compared with the manifest, once on each machine."""
        return self._latest()

    @contextmanager
    def _latest(self) -> Iterator[Path | None]:
        name = self._on_first_rank(lambda: (self.checkpoints() or [""])[-1])
        if not name:
            yield None
            return
        with self._shared(name, lambda folder: self._fetch(name, folder)) as folder:
            yield folder

    def beside(self, name: str) -> AbstractContextManager[Path | None]:
        """See ``Store``. Every byte is compared with the manifest, once on each machine."""
        return self._beside(name)

    @contextmanager
    def _beside(self, name: str) -> Iterator[Path | None]:
        artifact = self.location / name
        if not self._on_first_rank(lambda: MANIFEST in artifact.names()):
            yield None
            return

        def fetch(folder: Path) -> None:
            try:
                artifact.get(folder)
            except IntegrityError as error:
                advice = f"remove {name}, to have it made anew"
                raise IntegrityError(error.message, where=artifact.uri, hint=advice) from error

        with self._shared(name, fetch) as folder:
            yield folder

    @contextmanager
    def _shared(self, name: str, fetch: Callable[[Path], object]) -> Iterator[Path]:
        """A download that the ranks of one machine share: the folder has the same path for all of them."""
        token: str = self._on_first_rank(lambda: os.urandom(8).hex())
        folder = Path(tempfile.gettempdir()) / f"cocite-resume-{token}" / name
        first = int(os.environ.get("LOCAL_RANK", "0")) == 0
        try:
            # If one machine's download fails, every rank raises; else the others would wait at the next barrier.
            self._on_every_rank(lambda: fetch(folder) if first else None)
            yield folder
            self.world.barrier()
        finally:
            if first:
                shutil.rmtree(folder.parent, ignore_errors=True)

    def save(self, step: int, write: Write, metrics: Mapping[str, float]) -> None:  # noqa: ARG002 - in the manifest
        """See ``Store``.

        Where one rank has no room for its part or cannot upload it, every rank raises its error. ``write`` exchanges
        with the other ranks and raises on all of them or none, so it is called outside of that.
        """
        checkpoint = self.location / f"step-{step:08d}"
        # There may be a damaged checkpoint of this step, or one from which training did not resume: none of its files
        # may remain among the new ones.
        self._on_first_rank(checkpoint.clear)
        with ExitStack() as stack:

            def make_folder() -> Path:
                # A rank that cannot remove its copy later must not raise alone.
                made = tempfile.TemporaryDirectory(prefix="cocite-checkpoint-", ignore_cleanup_errors=True)
                return Path(stack.enter_context(made))

            def upload() -> None:
                checkpoint.upload(folder, [path.name for path in folder.iterdir() if path.name != MANIFEST])

            folder = self._on_every_rank(make_folder)
            write(folder)
            # All shards first, then the manifest: a checkpoint without one does not count.
            self._on_every_rank(upload)
            self._on_first_rank(lambda: checkpoint.upload(folder, [MANIFEST]))
        self._on_first_rank(self._retain)

    def save_beside(self, name: str, write: Write, meta: Mapping[str, Any]) -> None:
        """See ``Store``."""

        def work() -> None:
            with tempfile.TemporaryDirectory(prefix="cocite-beside-") as temporary:
                artifact = Path(temporary) / name
                with publish(artifact, kind=kind_of(name), meta=dict(meta)) as folder:
                    write(folder)
                (self.location / name).put(artifact)

        self._on_first_rank(work)

    def checkpoints(self) -> list[str]:
        """Names of the complete checkpoints, the oldest first."""
        names = [name for name in self.location.names() if name.startswith("step-")]
        return [name for name in names if MANIFEST in (self.location / name).names()]

    def _fetch(self, name: str, folder: Path) -> None:
        """Download a checkpoint. The error of a damaged one names the newest earlier one that is whole."""
        try:
            self._download(name, folder)
        except (IntegrityError, NotFoundError) as error:
            earlier = reversed([other for other in self.checkpoints() if other < name])
            whole = next((other for other in earlier if self._is_whole(other)), None)
            advice = (
                f"remove {name} to resume from {whole}, which is whole"
                if whole
                else f"no earlier checkpoint is whole: remove {name} to start over"
            )
            raise IntegrityError(error.message, where=error.where, hint=advice) from error

    def _download(self, name: str, folder: Path) -> None:
        """Download a checkpoint, and beside it what was mined for it."""
        mined = (self.location / name).get(folder).meta.get("mined")
        if mined is not None:
            (self.location / mined).get(folder.parent / mined)

    def _is_whole(self, name: str) -> bool:
        """Whether every byte of a checkpoint is as its manifest says."""
        with tempfile.TemporaryDirectory(prefix="cocite-checkpoint-") as temporary:
            try:
                self._download(name, Path(temporary) / name)
            except CociteError:
                return False
        return True

    def _retain(self) -> None:
        """Remove all but the best checkpoints and the newest, and the files of a writer that was killed.

        With them go the blocks of minings that the newest has no need of.
        """
        whole = self.checkpoints()
        ranked = sorted(((self._value(name), name) for name in whole), reverse=True)
        # The newest stays whatever its metric: it is the one to resume from.
        kept = {name for value, name in ranked[: self.keep] if value > -math.inf} | set(whole[-1:])
        kept |= {mined for name in kept if (mined := self._meta(name).get("mined"))}
        last = int(whole[-1].removeprefix("step-")) if whole else 0
        for name in self.location.names():
            if (name.startswith(("step-", "mined-")) and name not in kept) or is_over(name, last):
                (self.location / name).clear()

    def _value(self, name: str) -> float:
        """The metric of a checkpoint; minus infinity where its manifest cannot be read or has none."""
        try:
            return float(self._meta(name)["metrics"].get(self.metric, -math.inf))
        except (ValueError, KeyError, TypeError, AttributeError):
            return -math.inf

    def _meta(self, name: str) -> dict[str, Any]:
        """What a checkpoint's manifest says; nothing where it cannot be read."""
        try:
            meta = json.loads((self.location / name).read(MANIFEST) or b"{}")["meta"]
        except (ValueError, KeyError, TypeError):
            return {}
        return meta if isinstance(meta, dict) else {}

    def _on_first_rank(self, work: Callable[[], T]) -> T:
        return self.world.on_first(work, self._no_room)

    def _on_every_rank(self, work: Callable[[], T]) -> T:
        return self.world.on_each(work, self._no_room)

    def _no_room(self, error: OSError) -> CociteError:
        """What is told of an error of this machine's disk, for what lies elsewhere raises no OSError."""
        return CociteError(
            f"rank {self.world.rank} cannot hold a checkpoint: {error.strerror or error}",
            where=str(error.filename or self.location.uri),
            hint="checkpoints that are there are whole: make room, or set TMPDIR to another folder, then resume",
        )
