"""The work of each worker of the training engine: build the task, train it, and leave the model for the driver.

The same function runs in one process, under torchrun, and on Ray; only the function that takes the events differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import torch

from cocite.corpus.store import Corpus
from cocite.errors import CociteError
from cocite.training.engine import loop
from cocite.training.engine.folders import Folder
from cocite.training.engine.memory import keep_freed_memory, return_freed_memory
from cocite.training.engine.result import TrainResult
from cocite.training.engine.stores import Store, Write
from cocite.training.engine.watch import Watch
from cocite.training.engine.wishes import Wishes
from cocite.training.engine.world import World
from cocite.write_errors import writing_to
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location
from cocite_jobs.training.progress import Event, ProgressSender, ignore_progress
from cocite_jobs.training.training_run import TrainingRun, temporary_model
from cocite_jobs.training.types import TrainingJob

T = TypeVar("T")
Saved = Callable[[int, Mapping[str, float]], None]
"""Called on every rank when a checkpoint has been written, with its step and its dev metrics."""


def run_worker(
    job: TrainingJob,
    world: World,
    send: Callable[[Event], None],
    saved: Saved | None = None,
    *,
    wishes: Wishes | None = None,
) -> dict[str, Any]:
    """Train; every rank calls it.

    Args:
        job: what to train.
        world: this rank among the others.
        send: takes the progress events of rank 0.
        saved: called after each checkpoint, in the thread that wrote it.
        wishes: ask for a checkpoint or the end while it trains.

    Returns:
        The result of :func:`cocite.training.engine.loop.train` as a dictionary. The model is at
        :attr:`TrainingRun.model <cocite_jobs.training.training_run.TrainingRun.model>`.

    Raises:
        CociteError: whatever the user can do something about.
    """
    try:
        with writing_to(job.to):
            return _run(job, world, send if world.first else ignore_progress, saved, wishes)
    except torch.OutOfMemoryError as error:
        raise CociteError(
            f"rank {world.rank} is out of GPU memory",
            where="training",
            hint="lower training.tokens, set gradient_checkpointing, or a higher zero",
        ) from error
    finally:
        if world.device.type == "cpu":
            return_freed_memory()  # the process may train another model after this one


def _run(
    job: TrainingJob,
    world: World,
    send: Callable[[Event], None],
    saved: Saved | None,
    wishes: Wishes | None,
) -> dict[str, Any]:
    if world.device.type == "cpu":
        keep_freed_memory()
    recipe = job.parse_recipe()
    run = TrainingRun.of(recipe, Location.of(job.to))
    state = run.read_state()
    if state is None:
        raise CociteError(
            f"rank {world.rank} does not see the training's folder",
            where=run.location.uri,
            hint="workers.storage must be a folder that all nodes share, or a URI",
        )
    sender = ProgressSender(send, recipe.training)
    sender.stage("preparing")
    corpus = Corpus.open(fetch_local(job.corpus))
    if corpus.version != state.corpus:
        raise CociteError(
            f"is version {corpus.version} now, and the training began with {state.corpus}",
            where=job.corpus,
            hint="the corpus was replaced meanwhile: train again, with --fresh for the new one",
        )
    task = job.build_task(recipe, corpus, fetch_local(job.to))
    apart = world.apart()  # checkpoints are written beside further steps
    store = run.store(apart, metric=task.metric, keep=recipe.training.keep)
    result = loop.train(
        task,
        recipe.training,
        world=world,
        store=LogKeepingStore(store, apart, run, sender, saved),
        fingerprint=job.fingerprint,
        log=sender.log,
        advance=sender.advance,
        stage=sender.stage,
        mining=Watch(stage=sender.stage, advance=sender.count),
        wishes=wishes,
    )
    if world.first:
        _leave_model(task, recipe, corpus, result, run)
    world.barrier()
    return asdict(result)


def _leave_model(task: Any, recipe: Any, corpus: Corpus, result: TrainResult, run: TrainingRun) -> None:
    """Write the trained model into the run's folder, where the driver fetches it."""
    settings = recipe.training
    is_fp32 = result.precision != settings.precision
    notes = [
        result.kept(task.metric),
        result.cut_short(settings.schedule),
        f"computed in fp32, for this CPU has no instructions for {settings.precision}" if is_fp32 else "",
    ]
    meta = {
        "recipe": recipe.model_dump(mode="json"),
        "corpus": corpus.version,
        "step": result.best_step,
        "dev": {name: round(value, 6) for name, value in result.best.items()},
        "notes": list(filter(None, notes)),
    }
    with temporary_model() as model:
        task.export(model, meta)
        run.model.put(model)


class LogKeepingStore:
    """A :class:`~cocite.training.engine.stores.Store` that writes the log beside each checkpoint.

    When the training resumes at a checkpoint, rank 0 sends the entries logged up to it again, for events that were on
    their way when the driver was killed are lost.

    Args:
        store: of the checkpoints.
        world: this rank among the others.
        run: the folder that gets the log.
        sender: has the entries logged so far, and sends those of a resumed training.
        saved: called after each checkpoint.

    Example:
        >>> from cocite.training.engine.settings import TrainingSettings
        >>> world, run = World(), TrainingRun(Location.of("memory://example/log"), is_kept=True)
        >>> sender = ProgressSender(ignore_progress, TrainingSettings())
        >>> store = run.store(world, metric="MRR", keep=1)
        >>> store = LogKeepingStore(store, world, run, sender, lambda step, metrics: print(f"saved {step}"))
        >>> sender.log({"loss": 2.0}, 5)
        >>> store.save(5, lambda folder: Path(folder, "manifest.json").touch(), {"MRR": 0.25})
        saved 5
        >>> run.read_log(5)
        [({'loss': 2.0}, 5)]
    """

    def __init__(
        self, store: Store, world: World, run: TrainingRun, sender: ProgressSender, saved: Saved | None
    ) -> None:
        self.store, self.world, self.run, self.sender, self.saved = store, world, run, sender, saved

    @property
    def place(self) -> Folder:
        """See ``Store``."""
        return self.store.place

    def latest(self) -> AbstractContextManager[Path | None]:
        """See ``Store``. Where rank 0 cannot read the log, every rank raises its error."""
        return self._latest()

    @contextmanager
    def _latest(self) -> Iterator[Path | None]:
        with self.store.latest() as folder:
            if folder is not None:
                step = int(folder.name.removeprefix("step-"))
                logged = self._on_first_rank(
                    lambda: self.run.read_log(step),
                    f"the log up to step {step} could not be read",
                    "see to the file system, then resume",
                )
                if self.world.first:
                    self.sender.resume(step, logged)
            yield folder

    def save_beside(self, name: str, write: Write, meta: Mapping[str, Any]) -> None:
        """See ``Store``."""
        self.store.save_beside(name, write, meta)

    def beside(self, name: str) -> AbstractContextManager[Path | None]:
        """See ``Store``."""
        return self.store.beside(name)

    def save(self, step: int, write: Write, metrics: Mapping[str, float]) -> None:
        """See ``Store``. Where rank 0 cannot write the log, every rank raises its error."""
        entries = list(self.sender.entries)  # a copy: the training may log on while this is written
        self._on_first_rank(
            lambda: self.run.write_log(entries),
            f"the checkpoint of step {step} could not be written",
            "the checkpoint before it is whole: make room, then resume",
        )
        # After the log: a resumed training may find entries beyond its checkpoint, which it drops, but never too few.
        self.store.save(step, write, metrics)
        if self.saved is not None:
            self.saved(step, metrics)

    def _on_first_rank(self, work: Callable[[], T], message: str, hint: str) -> T:
        """:meth:`World.on_first`, with ``message`` before the reason of an error of the file system."""
        where = self.run.location.uri
        return self.world.on_first(
            work, lambda error: CociteError(f"{message}: {error.strerror}", where=where, hint=hint)
        )
