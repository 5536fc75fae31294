"""The folder in which a training of the engine keeps its checkpoints and its state until the model is published.

The state says what is trained, and whether the training has ended. Hidden in the model folder, the training's folder is
removed when the model is published; in a storage that the recipe names (``workers.storage``) it stays.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cocite.atomic_files import write_atomic
from cocite.config import Settings, flat
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError, WriteError
from cocite.locks import locked_for_writing
from cocite.manifests import MANIFEST, manifest_text, read_manifest
from cocite.training.engine.kept_blocks import PREFIX
from cocite.training.engine.stores import FolderStore, Store
from cocite.training.engine.world import World
from cocite.write_errors import writing_to
from cocite_jobs.storage.checkpoints import RemoteStore
from cocite_jobs.storage.location import Location
from cocite_jobs.training.types import Start

STATE, LOG = "run.json", "log.json"
Entry = tuple[dict[str, float], int]
"""Metrics, and the step that they belong to."""

CHANGEABLE = {
    "workers": None,
    "training": {
        "backend", "zero", "offload", "gradient_checkpointing", "compile", "tokens", "minutes", "patience",
        "evaluate_every", "checkpoint_every", "checkpoint_minutes", "keep", "log_every", "loader_threads", "tf32",
    },
}  # fmt: skip
"""Section of a recipe -> its settings (None: all) that may change when a training is resumed: on what it runs, how
fast, how long, and how often it evaluates and saves."""


def fixed_settings(recipe: Settings) -> dict[str, Any]:
    """The settings that must not change when a training is resumed: all but those of :data:`CHANGEABLE`.

    Example:
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> once, again = (load_recipe("hatten", [f"workers.count={count}"]) for count in (1, 4))
        >>> fixed_settings(once) == fixed_settings(again)
        True
        >>> fixed_settings(once) == fixed_settings(load_recipe("hatten", ["training.batch=8"]))
        False
    """
    return without_changeable(recipe.model_dump(mode="json"))


def without_changeable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a recipe, as a manifest holds them, but for those of :data:`CHANGEABLE`.

    Example:
        >>> without_changeable({"loss": "triplet", "workers": {"count": 2}, "training": {"batch": 8, "minutes": 5.0}})
        {'loss': 'triplet', 'training': {'batch': 8}}
    """
    data = dict(settings)
    for section, keys in CHANGEABLE.items():
        if keys is None:
            data.pop(section, None)
        elif isinstance(data.get(section), dict):
            data[section] = {key: value for key, value in data[section].items() if key not in keys}
    return data


@dataclass(frozen=True)
class TrainingState:
    """The content of ``run.json``.

    Attributes:
        kind: of the recipe.
        recipe: its :func:`fixed_settings`.
        corpus: the corpus' version.
        mlflow: id of the MLflow run that has the metrics; empty: none.
        finished: whether the model has been published.

    Example:
        >>> state = TrainingState("hatten", {"loss": "triplet"}, corpus="a1")
        >>> state.fingerprint == TrainingState("hatten", {"loss": "triplet"}, corpus="a1", finished=True).fingerprint
        True
        >>> state.fingerprint == TrainingState("hatten", {"loss": "triplet"}, corpus="b2").fingerprint
        False
    """

    kind: str
    recipe: dict[str, Any]
    corpus: str
    mlflow: str = ""
    finished: bool = False

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits of what its checkpoints belong to: kind, recipe and corpus."""
        text = json.dumps([self.kind, self.recipe, self.corpus], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class TrainingRun:
    """The folder of one training.

    Args:
        location: of the folder.
        is_kept: whether the folder stays when the model is published.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = TrainingRun(Location.of(folder), is_kept=True)
        ...     run.write_state(TrainingState("hatten", {}, corpus="a1"))
        ...     run.write_log([({"loss": 2.0}, 1), ({"loss": 1.5}, 2)])
        ...     run.read_state().finished, run.read_log(1)
        (False, [({'loss': 2.0}, 1)])
    """

    def __init__(self, location: Location, *, is_kept: bool) -> None:
        self.location, self.is_kept = location, is_kept

    @classmethod
    def of(cls, recipe: Any, to: Location) -> TrainingRun:
        """The run of an engine's recipe: in the storage that it names, else hidden in the model folder."""
        if recipe.workers.storage is not None:
            return cls(Location.of(recipe.workers.storage), is_kept=True)
        return cls(to / f".{recipe.kind}.training", is_kept=False)

    # -- state --------------------------------------------------------------------------------------------------

    def read_state(self) -> TrainingState | None:
        """The state of the training in the folder; None: there is none.

        Raises:
            IntegrityError: the state cannot be read.
        """
        data = self.location.read(STATE)
        if data is None:
            return None
        try:
            return TrainingState(**json.loads(data))
        except (ValueError, TypeError) as error:
            raise IntegrityError(
                "is not the record of a training",
                where=(self.location / STATE).uri,
                hint="start over: --fresh",
            ) from error

    def write_state(self, state: TrainingState) -> None:
        """Replace the state."""
        self.location.write(STATE, json.dumps(asdict(state), indent=1, sort_keys=True) + "\n")

    def begin(self, recipe: Any, corpus: Corpus, start: Start) -> TrainingState:
        """Begin or resume a training in the folder; returns its state, which is written there.

        Raises:
            InputError: the folder has another training, a finished one, or one that the user may want to resume.
            NotFoundError: there is nothing to resume.
        """
        where = self.location.uri
        wanted = TrainingState(str(recipe.kind), fixed_settings(recipe), corpus.version)
        # A state that cannot be read must not keep --fresh from replacing it.
        present = None if start == "fresh" else self.read_state()
        if present is not None and present.finished:
            raise InputError("the training there is finished", where=where, hint="pass --fresh to train anew")
        if present is None and start == "resume":
            raise NotFoundError("holds no training to go on with", where=where, hint="leave --resume out")
        step = self._last_step()
        is_same = present is not None and present.fingerprint == wanted.fingerprint
        if present is not None and is_same and (start == "resume" or step < 0):
            return present
        if present is None or step < 0:  # without a checkpoint there is nothing to lose
            self._remove_checkpoints()
            self.write_state(wanted)
            return wanted
        if not is_same:
            raise InputError(
                f"holds another training: {_difference(present, wanted)}",
                where=where,
                hint="name another workers.storage, or pass --fresh to throw it away",
            )
        raise InputError(
            f"holds an unfinished training, up to step {step}",
            where=where,
            hint="pass --resume to go on with it, or --fresh to throw it away",
        )

    # -- while it trains ----------------------------------------------------------------------------------------

    def store(self, world: World, *, metric: str, keep: int) -> Store:
        """The store of its checkpoints, for the ranks that train."""
        if self.location.local is not None:
            return FolderStore(self.location.local, world, metric=metric, keep=keep)
        return RemoteStore(self.location, world, metric=metric, keep=keep)

    def write_log(self, entries: Sequence[Entry]) -> None:
        """Replace the log with all entries so far."""
        self.location.write(LOG, json.dumps(entries) + "\n")

    def read_log(self, step: int) -> list[Entry]:
        """The entries logged up to a step; empty where no log can be read."""
        try:
            entries = json.loads(self.location.read(LOG) or b"[]")
            return [(metrics, at) for metrics, at in entries if at <= step]
        except (ValueError, TypeError):
            return []

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes of this machine out of a storage that several model folders may name.

        Raises:
            BusyError: another process trains here.
            CociteError: the storage cannot be written.
        """
        local = self.location.local
        if not self.is_kept or local is None:  # the model folder's lock protects a run that is hidden in it
            yield
            return
        with locked_for_writing(local / ".lock", local):
            yield

    # -- the trained model --------------------------------------------------------------------------------------

    @property
    def model(self) -> Location:
        """The place where the workers leave the trained model, which the driver publishes."""
        return self.location / "model"

    def publish_model(
        self, to: Location, state: TrainingState, more_meta: Callable[[Path], Mapping[str, Any]] | None = None
    ) -> None:
        """Publish the trained model, every byte verified, and close the run.

        Args:
            to: where the model is published.
            state: of the training, which is marked as finished where the folder stays.
            more_meta: called with a local copy of the model; returns entries to add to ``meta`` of its manifest.
        """
        with temporary_model() as copy:
            self.model.get(copy)
            if more_meta is not None and (added := more_meta(copy)):
                manifest = read_manifest(copy)
                text = manifest_text(manifest.kind, {**manifest.meta, **added}, manifest.files)
                write_atomic(copy / MANIFEST, text)
            to.put(copy)
        if self.is_kept:
            self.write_state(replace(state, finished=True))
            self.model.clear()
        else:
            self.location.clear()

    def _last_step(self) -> int:
        """The step of the newest checkpoint; -1: there is none."""
        steps = [name for name in self.location.names() if name.startswith("step-")]
        return int(steps[-1].removeprefix("step-")) if steps else -1

    def _remove_checkpoints(self) -> None:
        """Remove the checkpoints and the model of an earlier training, and nothing that is not a training's."""
        for name in self.location.names():
            if name.startswith(("step-", ".step-", "mined-", PREFIX)) or name in ("prepared", "model"):
                (self.location / name).clear()


@contextmanager
def temporary_model() -> Iterator[Path]:
    """The path of a model on this machine's temporary disk, which is removed with the block.

    Raises:
        WriteError: that disk is full.
    """
    with tempfile.TemporaryDirectory(prefix="cocite-model-") as temporary:
        try:
            with writing_to(temporary):
                yield Path(temporary, "model")
        except WriteError as error:
            if not Path(error.where or "/").is_relative_to(temporary):
                raise
            # The folder's name means nothing to the user, and it is gone by now.
            raise WriteError(
                f"the trained model could not be written: {error.message}",
                where=tempfile.gettempdir(),
                hint="make room there, or set TMPDIR to another folder; then pass --resume: its checkpoints are whole",
            ) from error


def _difference(present: TrainingState, wanted: TrainingState) -> str:
    """The first setting in which two trainings differ, in words."""
    if present.kind != wanted.kind:
        return f"its kind is {present.kind}"
    theirs, ours = flat(present.recipe), flat(wanted.recipe)
    for key in sorted(theirs.keys() | ours.keys()):
        if theirs.get(key) != ours.get(key):
            return f"its {key} is {theirs.get(key)!r}, not {ours.get(key)!r}"
    return "its corpus is another"
