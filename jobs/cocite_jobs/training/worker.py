"""What each of the workers of a neural training does: build the task, train, and leave the model to be fetched.

The same function runs in one process, under torchrun, and on Ray; who listens differs, and nothing else.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import CociteError
from cocite.training.engine import loop
from cocite.training.engine.memory import hand_back_memory, keep_freed_memory
from cocite.training.engine.stores import Store, Write
from cocite.training.engine.world import World
from cocite.training.loop import kept_sentence
from cocite.write_errors import writing_to
from cocite_jobs.storage.location import Place, at_hand
from cocite_jobs.training.progress import Event, Teller
from cocite_jobs.training.training_run import Run

Saved = Callable[[int, Mapping[str, float]], None]
"""Told, on every rank, that there is a checkpoint of a step, with its dev metrics."""


@dataclass(frozen=True)
class Order:
    """A training, in plain values: it travels to the workers.

    Attributes:
        module: holds ``settings`` and ``build``.
        settings: name of the recipe's class.
        recipe: the recipe, dumped.
        corpus: path or URI of the corpus store.
        to: path or URI of the model folder.
        fingerprint: what the checkpoints belong to.
    """

    module: str
    settings: str
    recipe: dict[str, Any]
    corpus: str
    to: str
    fingerprint: str

    def parsed(self) -> Any:
        """The recipe, as its class."""
        cls: type[Settings] = getattr(importlib.import_module(self.module), self.settings)
        return cls.parse(self.recipe)


def work(
    order: Order, world: World, send: Callable[[Event], None], saved: Saved | None = None
) -> dict[str, Any]:
    """Train; every rank calls it.

    Args:
        order: what to train.
        world: this rank among the others.
        send: takes what rank 0 tells.
        saved: told of each checkpoint.

    Returns:
        the fields of :class:`cocite.training.engine.loop.Outcome`. The model is at ``Run.model``.

    Raises:
        CociteError: whatever the user can do something about.
    """
    try:
        with writing_to(order.to):
            return _work(order, world, send if world.first else loop.ignore_progress, saved)
    except torch.OutOfMemoryError as error:
        raise CociteError(
            f"rank {world.rank} is out of GPU memory",
            where="training",
            hint="lower training.tokens, set gradient_checkpointing, or a higher zero",
        ) from error
    finally:
        if world.device.type == "cpu":
            hand_back_memory()  # the process may train another model after this one


def _work(order: Order, world: World, send: Callable[[Event], None], saved: Saved | None) -> dict[str, Any]:
    if world.device.type == "cpu":
        keep_freed_memory()
    recipe = order.parsed()
    run = Run.of(recipe, Place.of(order.to))
    state = run.state()
    if state is None:
        raise CociteError(
            f"rank {world.rank} does not see the training's folder",
            where=run.place.uri,
            hint="workers.storage must be a folder that all nodes share, or a URI",
        )
    teller = Teller(send, recipe.training)
    teller.stage("preparing")
    corpus = Corpus.open(at_hand(order.corpus))
    if corpus.version != state.corpus:
        raise CociteError(
            f"is version {corpus.version} now, and the training began with {state.corpus}",
            where=order.corpus,
            hint="the corpus was replaced meanwhile: train again, with --fresh for the new one",
        )
    task = importlib.import_module(order.module).build(recipe, corpus, at_hand(order.to))
    store = run.store(world, metric=task.metric, keep=recipe.training.keep)
    outcome = loop.train(
        task,
        recipe.training,
        world=world,
        store=_Told(store, world, run, teller, saved),
        fingerprint=order.fingerprint,
        log=teller.log,
        advance=teller.advance,
    )
    if world.first:
        meta = {
            "recipe": recipe.model_dump(mode="json"),
            "corpus": corpus.version,
            "step": outcome.best_step,
            "dev": {name: round(value, 6) for name, value in outcome.best.items()},
            "notes": [
                kept_sentence(task.metric, outcome.best_step, outcome.best[task.metric], None, steps="step")
            ],
        }
        with tempfile.TemporaryDirectory(prefix="cocite-model-") as temporary:
            with writing_to(temporary):
                task.export(Path(temporary, "model"), meta)
            run.model.put(Path(temporary, "model"))
    world.barrier()
    return asdict(outcome)


class _Told:
    """A store that keeps what was logged beside each checkpoint, and says where training goes on, and what was saved.

    Words that were on their way when a driver was killed are said again by who goes on from the checkpoint.
    """

    def __init__(self, store: Store, world: World, run: Run, teller: Teller, saved: Saved | None) -> None:
        self.store, self.world, self.run, self.teller, self.saved = store, world, run, teller, saved

    def latest(self) -> AbstractContextManager[Path | None]:
        """See ``Store``."""
        return self._latest()

    @contextmanager
    def _latest(self) -> Iterator[Path | None]:
        with self.store.latest() as folder:
            if folder is not None and self.world.first:
                step = int(folder.name.removeprefix("step-"))
                self.teller.resume(step, self.run.logged(step))
            yield folder

    def save(self, step: int, write: Write, metrics: Mapping[str, float]) -> None:
        """See ``Store``."""
        trouble: CociteError | None = None
        if self.world.first:
            try:
                self.run.keep_log(self.teller.entries)
            except OSError as error:
                trouble = CociteError(
                    f"the checkpoint of step {step} could not be written: {error.strerror}",
                    where=self.run.place.uri,
                    hint="the checkpoint before it is whole: make room, then resume",
                )
            except CociteError as error:
                trouble = error
        trouble = self.world.agree(trouble)
        if trouble is not None:
            raise trouble
        self.store.save(step, write, metrics)
        if self.saved is not None:
            self.saved(step, metrics)
