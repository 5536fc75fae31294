"""What a training keeps until it is done: its checkpoints, what it is a training of, and whether it has ended.

Beside ``--to`` it is scratch, and gone when the model is there; in a storage that a recipe names it stays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from cocite.config import Settings, flat
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.locks import locked
from cocite.training.engine.stores import FolderStore, Store
from cocite.training.engine.world import World
from cocite.write_errors import writing_to
from cocite_jobs.storage.checkpoints import RemoteStore
from cocite_jobs.storage.location import Place

STATE, LOG = "run.json", "log.json"
Entry = tuple[dict[str, float], int]
"""Metrics, and the step that they are of."""
Start = Literal["new", "resume", "fresh"]
"""How to begin: only where nothing is, with what is there, or in its stead."""

FREE = {
    "workers": None,
    "training": {
        "backend", "zero", "offload", "gradient_checkpointing", "compile", "tokens", "minutes", "patience",
        "evaluate_every", "checkpoint_every", "keep", "log_every", "loader_threads",
    },
}  # fmt: skip
"""What may change when a training is resumed: who trains, how fast, how long, and how often it looks up."""


def identity(recipe: Settings) -> dict[str, Any]:
    """What makes a recipe this training and no other: all of it but what is :data:`FREE`."""
    data = recipe.model_dump(mode="json")
    for section, keys in FREE.items():
        if keys is None:
            data.pop(section, None)
        elif isinstance(data.get(section), dict):
            data[section] = {key: value for key, value in data[section].items() if key not in keys}
    return data


@dataclass(frozen=True)
class State:
    """What ``run.json`` says.

    Attributes:
        kind: of the recipe.
        recipe: its :func:`identity`.
        corpus: the corpus' version.
        mlflow: id of the run that keeps the metrics; empty: none.
        finished: whether the model has been delivered.
    """

    kind: str
    recipe: dict[str, Any]
    corpus: str
    mlflow: str = ""
    finished: bool = False

    @property
    def fingerprint(self) -> str:
        """What the checkpoints belong to."""
        text = json.dumps([self.kind, self.recipe, self.corpus], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Run:
    """A training's folder.

    Args:
        place: where it is.
        kept: whether it stays when the training is done.
    """

    def __init__(self, place: Place, *, kept: bool) -> None:
        self.place, self.kept = place, kept

    @classmethod
    def of(cls, recipe: Any, to: Place) -> Run:
        """The run of a neural recipe: in the storage it names, else hidden in the model folder."""
        if recipe.workers.storage is not None:
            return cls(Place.of(recipe.workers.storage), kept=True)
        return cls(to / f".{recipe.kind}.training", kept=False)

    def state(self) -> State | None:
        """What is kept there; None: nothing.

        Raises:
            IntegrityError: it cannot be read.
        """
        data = self.place.read(STATE)
        if data is None:
            return None
        try:
            return State(**json.loads(data))
        except (ValueError, TypeError) as error:
            raise IntegrityError(
                "is not the record of a training",
                where=f"{self.place.uri}/{STATE}",
                hint="start over: --fresh",
            ) from error

    def begin(self, recipe: Any, corpus: Corpus, start: Start) -> State:
        """Take the folder into use for a training; returns its state, which is written there.

        Raises:
            InputError: what is there is another training, a finished one, or one that the user may want to go on with.
            NotFoundError: there is nothing to resume.
        """
        where = self.place.uri
        mine = State(str(recipe.kind), identity(recipe), corpus.version)
        found = None if start == "fresh" else self.state()
        if found is not None and found.finished:
            raise InputError("the training there is finished", where=where, hint="pass --fresh to train anew")
        if found is None and start == "resume":
            raise NotFoundError("holds no training to go on with", where=where, hint="leave --resume out")
        step = self._step()
        if found is not None and found.fingerprint == mine.fingerprint and (start == "resume" or step < 0):
            return found
        if found is None or step < 0:  # without a checkpoint there is nothing to lose
            self._clear()
            self.write(mine)
            return mine
        if found.fingerprint != mine.fingerprint:
            raise InputError(
                f"holds another training: {_difference(found, mine)}",
                where=where,
                hint="name another workers.storage, or pass --fresh to throw it away",
            )
        raise InputError(
            f"holds an unfinished training, up to step {step}",
            where=where,
            hint="pass --resume to go on with it, or --fresh to throw it away",
        )

    def write(self, state: State) -> None:
        """Keep a new state."""
        self.place.write(STATE, json.dumps(asdict(state), indent=1, sort_keys=True) + "\n")

    def store(self, world: World, *, metric: str, keep: int) -> Store:
        """Its checkpoints, for the ranks that train."""
        if self.place.local is not None:
            return FolderStore(self.place.local, world, metric=metric, keep=keep)
        return RemoteStore(self.place, world, metric=metric, keep=keep)

    def keep_log(self, entries: Sequence[Entry]) -> None:
        """Keep all that was logged so far."""
        self.place.write(LOG, json.dumps(entries) + "\n")

    def logged(self, step: int) -> list[Entry]:
        """What was logged up to a step; nothing where that was not kept."""
        try:
            entries = json.loads(self.place.read(LOG) or b"[]")
        except ValueError:
            return []
        return [(metrics, at) for metrics, at in entries if at <= step]

    @property
    def model(self) -> Place:
        """Where the trained model waits to be fetched."""
        return self.place / "model"

    def deliver(self, to: Place, state: State) -> None:
        """Bring the trained model to its place, every byte checked, and close the run."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="cocite-model-") as temporary:
            copy = Path(temporary, "model")
            self.model.get(copy)
            to.put(copy)
        if self.kept:
            self.write(State(**asdict(state) | {"finished": True}))
            self.model.clear()
        else:
            self.place.clear()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes of this machine out of a storage that several model folders may name.

        Raises:
            BusyError: one of them trains here.
            CociteError: the storage cannot be written.
        """
        local = self.place.local
        if not self.kept or local is None:  # the lock of the model folder protects what is beside the model
            yield
            return
        with ExitStack() as stack:
            with writing_to(local):
                stack.enter_context(locked(local / ".lock"))
            yield

    def _step(self) -> int:
        """The last step that there is a checkpoint of; -1: none."""
        steps = [name for name in self.place.names() if name.startswith("step-")]
        return int(steps[-1].removeprefix("step-")) if steps else -1

    def _clear(self) -> None:
        """Remove what an earlier training left, and nothing that is not a training's."""
        for name in self.place.names():
            if name.startswith(("step-", ".step-")) or name == "model":
                (self.place / name).clear()


def _difference(found: State, mine: State) -> str:
    """How two trainings differ, by the first key that does."""
    if found.kind != mine.kind:
        return f"its kind is {found.kind}"
    theirs, ours = flat(found.recipe), flat(mine.recipe)
    for key in sorted(theirs.keys() | ours.keys()):
        if theirs.get(key) != ours.get(key):
            return f"its {key} is {theirs.get(key)!r}, not {ours.get(key)!r}"
    return "its corpus is another"
