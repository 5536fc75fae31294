"""Stores of checkpoints."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from cocite.artifacts import exchange, publish, verify
from cocite.errors import CociteError, IntegrityError, WriteError
from cocite.manifests import MANIFEST, read_manifest
from cocite.training.engine.checkpoints import KIND
from cocite.training.engine.folders import Folder, LocalFolder
from cocite.training.engine.kept_blocks import PREFIX, is_over
from cocite.training.engine.world import World

Write = Callable[[Path], None]
"""Fills a folder with this rank's part of a checkpoint; called by all ranks together, and raises on all or none."""


class Store(Protocol):
    """Keeps checkpoints. All ranks call each method together.

    The newest checkpoint is all that a training needs to go on: it holds the best weights so far too.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
        >>> from cocite.training.engine.loop import train
        >>> recipe = NNSelectRecipe.parse({"model": {"dimension": 4}, "training": {"steps": 4, "checkpoint_every": 2}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store: Store = FolderStore(Path(folder), World(), metric="R@20")
        ...     result = train(build(recipe, starter_corpus()), recipe.training, world=World(), store=store)
        ...     [path.name for path in store.checkpoints()]
        ['step-00000004']
    """

    @property
    def world(self) -> World:
        """The ranks that keep checkpoints together. Where it is apart from that of the training, saving goes on beside
        further steps, in another thread."""
        ...

    @property
    def place(self) -> Folder:
        """The folder of the checkpoints, where each rank may keep small files of its own; the only member that a rank
        may use by itself."""
        ...

    def latest(self) -> AbstractContextManager[Path | None]:
        """The folder of the newest checkpoint, readable by this rank while the block lasts; None: there is none.

        Its files are those of the manifest (``cocite.artifacts.verify`` has said so on one rank at least).

        Raises:
            CociteError: it is damaged.
        """
        ...

    def save(self, step: int, write: Write, metrics: Mapping[str, float]) -> None:
        """Keep a checkpoint; when this returns, it is safe.

        Args:
            step: optimizer steps taken.
            write: called once, with a folder of this rank or one that all ranks share. When it returns, the parts of
                all ranks, put into one folder, are a whole artifact with its manifest.
            metrics: dev metrics of just these weights; empty where they were not evaluated.
        """
        ...

    def save_beside(self, name: str, write: Write, meta: Mapping[str, Any]) -> None:
        """Keep an artifact beside the checkpoints, in place of one of the same name.

        What was mined goes with the last checkpoint whose manifest has it as ``mined``, and :meth:`latest` verifies it
        with its checkpoint, beside whose folder it is readable. What was prepared stays as long as the training does.

        Args:
            name: of the artifact: ``mined-`` and a step, or ``prepared``.
            write: fills its folder; called on rank 0 alone.
            meta: of its manifest.

        Raises:
            CociteError: it cannot be written.
        """
        ...

    def beside(self, name: str) -> AbstractContextManager[Path | None]:
        """The folder of an artifact beside the checkpoints, as :meth:`latest` has that of a checkpoint; None: none.

        Raises:
            CociteError: it is damaged.
        """
        ...


class FolderStore:
    """A folder that all ranks see: ``step-00000120`` and so on, each there whole or not at all.

    Kept are the best by a dev metric, and always the last; what else there is is removed after each save.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = FolderStore(Path(folder), World(), metric="R@20")
        ...     with store.latest() as newest:
        ...         print(newest)
        None
    """

    def __init__(self, folder: Path, world: World, *, metric: str, keep: int = 2) -> None:
        """Open a store; the folder is made when the first checkpoint is.

        Args:
            folder: local, or of a file system that all nodes share.
            world: who writes.
            metric: greater is better.
            keep: how many of the best to keep.
        """
        self.folder, self.world, self.metric, self.keep = Path(folder), world, metric, keep

    @property
    def place(self) -> Folder:
        """See :class:`Store`."""
        return LocalFolder(self.folder)

    def latest(self) -> AbstractContextManager[Path | None]:
        """See :class:`Store`. Rank 0 reads every byte and compares it with the manifest."""
        return self._found(self._newest)

    def beside(self, name: str) -> AbstractContextManager[Path | None]:
        """See :class:`Store`. Rank 0 reads every byte and compares it with the manifest."""
        return self._found(lambda: self._beside(name))

    @contextmanager
    def _found(self, find: Callable[[], Path | None]) -> Iterator[Path | None]:
        # One rank decides: another could see a folder that appears or goes in between.
        folder = self.world.on_first(
            find,
            lambda error: CociteError(
                f"cannot look for checkpoints: {error.strerror}",
                where=str(self.folder),
                hint="see to the disk, then resume",
            ),
        )
        yield folder
        self.world.barrier()

    def _beside(self, name: str) -> Path | None:
        path = self.folder / name
        if not (path / MANIFEST).is_file():
            return None
        try:
            verify(path, kind=kind_of(name))
        except IntegrityError as error:
            advice = f"remove {name}, to have it made anew"
            raise IntegrityError(error.message, where=error.where, hint=advice) from error
        return path

    def save(self, step: int, write: Write, metrics: Mapping[str, float]) -> None:  # noqa: ARG002 - in the manifest
        """See :class:`Store`."""
        temporary = self.folder / f".step-{step:08d}.tmp"
        self._on_first_rank(lambda: self._vacate(temporary), "cannot make a folder for the checkpoint")
        try:
            write(temporary)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        self._on_first_rank(lambda: self._publish(temporary, step), "cannot put the checkpoint in its place")

    def save_beside(self, name: str, write: Write, meta: Mapping[str, Any]) -> None:
        """See :class:`Store`."""

        def work() -> None:
            with publish(self.folder / name, kind=kind_of(name), meta=dict(meta), replace=True) as folder:
                write(folder)

        self._on_first_rank(work, f"cannot keep what was {name.partition('-')[0]}")

    def checkpoints(self) -> list[Path]:
        """The checkpoints there are, the oldest first, undamaged or not."""
        return sorted(path for path in self.folder.glob("step-*") if path.is_dir())

    def _on_first_rank(self, work: Callable[[], None], message: str) -> None:
        """Let rank 0 do something that may fail; if it does, every rank raises."""
        failure: str | None = None
        if self.world.first:
            try:
                work()
            except (OSError, WriteError) as error:
                failure = f"{message}: {error.strerror if isinstance(error, OSError) else error.message}"
        failure = self.world.agree(failure)
        if failure is not None:
            raise CociteError(
                failure,
                where=str(self.folder),
                hint="earlier checkpoints are whole: see to the disk, then resume",
            )

    def _vacate(self, temporary: Path) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._sweep()
        temporary.mkdir()

    def _sweep(self) -> None:
        """Remove what a writer that was killed has left behind."""
        for pattern in (".step-*.tmp", ".mined-*.tmp", f".{PREFIX}*.tmp"):
            for path in self.folder.glob(pattern):
                shutil.rmtree(path, ignore_errors=True)

    def _publish(self, temporary: Path, step: int) -> None:
        final = self.folder / f"step-{step:08d}"
        if final.exists():
            exchange(temporary, final)
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.rename(final)
        self._retain()

    def _retain(self) -> None:
        """Remove all but the best and the last, and the blocks of minings that the last has no need of."""
        # The last stays whatever its metric: it is the one to resume from.
        *earlier, last = self.checkpoints()
        ranked = sorted(((self._value(path), path) for path in (*earlier, last)), reverse=True)
        kept = {path for value, path in ranked[: self.keep] if value > -math.inf} | {last}
        for path in earlier:
            if path not in kept:
                _remove(path)
        named = {mined_of(path) for path in kept}
        for path in self.folder.glob("mined-*"):
            if path.name not in named:
                _remove(path)
        for path in self.folder.glob(f"{PREFIX}*"):
            if is_over(path.name, int(last.name.removeprefix("step-"))):
                _remove(path)

    def _value(self, path: Path) -> float:
        """The dev metric of a checkpoint; minus infinity where it has none that can be read."""
        try:
            metrics = read_manifest(path, kind=KIND).meta["metrics"]
            return float(metrics.get(self.metric, -math.inf))
        except (CociteError, KeyError, TypeError, ValueError, AttributeError):
            return -math.inf

    def _newest(self) -> Path | None:
        """The last checkpoint, verified; the error of a damaged one names an earlier one that is whole."""
        self._sweep()
        checkpoints = self.checkpoints()
        if not checkpoints:
            return None
        try:
            _verify(checkpoints[-1])
        except CociteError as error:
            whole = next((path for path in reversed(checkpoints[:-1]) if _is_whole(path)), None)
            advice = (
                f"remove {checkpoints[-1].name} to resume from {whole.name}, which is whole"
                if whole
                else f"no earlier checkpoint is whole: remove {checkpoints[-1].name} to start over"
            )
            raise IntegrityError(error.message, where=error.where, hint=advice) from error
        return checkpoints[-1]


def kind_of(name: str) -> str:
    """The kind of an artifact beside the checkpoints: ``training-mined``, ``training-prepared``."""
    return f"training-{name.partition('-')[0]}"


def mined_of(checkpoint: Path) -> str | None:
    """The name of the artifact of what was mined that a checkpoint needs; None: none, or its manifest is unreadable."""
    try:
        name = read_manifest(checkpoint, kind=KIND).meta.get("mined")
    except CociteError:
        return None
    return name if isinstance(name, str) else None


def _verify(checkpoint: Path) -> None:
    """Verify a checkpoint, and what was mined for it."""
    verify(checkpoint, kind=KIND)
    if (name := mined_of(checkpoint)) is not None:
        verify(checkpoint.parent / name, kind=kind_of(name))


def _is_whole(path: Path) -> bool:
    try:
        _verify(path)
    except CociteError:
        return False
    return True


def _remove(path: Path) -> None:
    # Renamed first: a reader never meets a folder that is half gone.
    path.rename(gone := path.with_name(f".{path.name}.tmp"))
    shutil.rmtree(gone, ignore_errors=True)
