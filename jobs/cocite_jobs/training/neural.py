"""Trains any neural model: on Ray's workers, or in this process (in all processes, under torchrun)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import CociteError, ConfigError
from cocite.training.engine.world import World
from cocite_jobs.cluster.session import workers_range
from cocite_jobs.storage.location import Place, at_hand, require_replaceable, training_lock
from cocite_jobs.training.inputs import prepare
from cocite_jobs.training.progress import Listener
from cocite_jobs.training.train import KINDS, Manner, Report, Trained
from cocite_jobs.training.training_run import Run, State
from cocite_jobs.training.worker import Order, work


class Training:
    """A training that is ready to run."""

    def __init__(
        self, recipe: Any, corpus: Corpus, order: Order, run: Run, state: State, manner: Manner, world: World
    ) -> None:
        self.recipe, self.corpus, self.order, self.run = recipe, corpus, order, run
        self.state, self.manner, self.world = state, manner, world

    @property
    def first(self) -> bool:
        """Whether this process speaks for all."""
        return self.world.first

    @property
    def mlflow(self) -> str:
        """See :class:`cocite_jobs.training.train.Ready`."""
        return self.state.mlflow

    def note(self, mlflow: str) -> None:
        """Remember the run that keeps the metrics, so that a resumed training goes on in it."""
        if mlflow and mlflow != self.state.mlflow:
            self.state = dataclasses.replace(self.state, mlflow=mlflow)
            self.run.write(self.state)

    def train(self, report: Report) -> Trained:
        """Train, and put the model into its folder."""
        if self.first:
            prepare(self.recipe, self.corpus, Place.of(self.order.to), report)
        self.world.barrier()
        listener = Listener(report, str(self.recipe.kind))
        if self.manner.on == "ray":
            from cocite_jobs.training.on_ray import fit

            m = self.manner
            outcome = fit(
                self.order,
                self.recipe.workers,
                listener.hear,
                address=m.address,
                wait=m.wait,
                verbose=m.verbose,
            )
        else:
            outcome = work(self.order, self.world, listener.hear)
        place = Place.of(self.order.to) / str(self.recipe.kind)
        if self.first:
            report.stage("fetching the model", 0)
            self.run.deliver(place, self.state)
        self.world.barrier()
        details = {
            "steps": outcome["steps"],
            "best_step": outcome["best_step"],
            "ended": outcome["reason"],
            "seconds": outcome["seconds"],
            "tokens": outcome["tokens"],
        }
        return Trained(at_hand(place.uri), outcome["best"], details)


@contextmanager
def prepared(recipe: Any, corpus: Corpus, to: str | Path, manner: Manner) -> Iterator[Training]:
    """Make ready to train: what can be refused is refused here, before anything is started.

    Args:
        recipe: of a neural kind.
        corpus: to train on.
        to: model folder, a path or a URI.
        manner: how and where.

    Raises:
        ConfigError: the recipe's workers and its backend do not go together.
        NotFoundError: the recipe's encoder cannot be had.
        InputError: what an earlier training left is in the way, or ``--resume`` has nothing to go on with.
        BusyError: another process trains there.
    """
    if manner.on is None:
        alone = recipe.workers.count == 0 or "WORLD_SIZE" in os.environ
        manner = dataclasses.replace(manner, on="process" if alone else "ray")
    world = World.join(timeout=recipe.workers.timeout) if manner.on == "process" else World()
    recipe = settled(recipe, world.size if manner.on == "process" else workers_range(recipe.workers)[1])
    place = Place.of(to)
    require_replaceable(place / str(recipe.kind))
    run = Run.of(recipe, place)
    module, settings, _ = KINDS[str(recipe.kind)]

    state: State | None = None
    trouble: CociteError | None = None
    with ExitStack() as stack:
        if world.first:
            try:
                stack.enter_context(training_lock(place, str(recipe.kind)))
                stack.enter_context(run.held())
                _require_encoder(recipe, manner)
                state = run.begin(recipe, corpus, manner.start)
            except CociteError as error:
                trouble = error
        state, trouble = world.agree((state, trouble))
        if trouble is not None or state is None:
            raise trouble or CociteError("the training could not begin", where=run.place.uri)
        order = Order(
            module=module,
            settings=settings,
            recipe=recipe.model_dump(mode="json"),
            corpus=manner.source or str(corpus.path.absolute()),
            to=place.uri,
            fingerprint=state.fingerprint,
        )
        yield Training(recipe, corpus, order, run, state, manner, world)


def _require_encoder(recipe: Any, manner: Manner) -> None:
    """Refuse a pretrained encoder that cannot be had here, before what it is trained on is made, and Ray is started.

    Raises:
        NotFoundError: neither a folder nor a model of a hub that answers.
    """
    name = getattr(recipe, "encoder", None)
    is_elsewhere = manner.on == "ray" and (manner.address is not None or "RAY_ADDRESS" in os.environ)
    if isinstance(name, str) and not is_elsewhere and not Path(name).is_dir():
        from cocite.nn.hub import must_be_cached

        must_be_cached(name)


def settled(recipe: Any, workers: int) -> Any:
    """The recipe with a backend that can have so many workers: ``ddp`` unless one was chosen.

    Raises:
        ConfigError: the one that was chosen cannot.
    """
    if workers < 2 or recipe.training.backend != "plain":
        return recipe
    if "backend" in recipe.training.model_fields_set:
        raise ConfigError(
            f"backend: plain trains on one worker, and there are {workers}",
            where="training.backend",
            hint="set it to ddp or deepspeed, or leave it out",
        )
    training = recipe.training.model_copy(update={"backend": "ddp"})
    return recipe.model_copy(update={"training": training})


def train_neural(recipe: Any, corpus: Corpus, to: Path, report: Report, *, fresh: bool = False) -> Trained:
    """Train a neural recipe and write ``to/<kind>``."""
    with prepared(recipe, corpus, to, Manner(start="fresh" if fresh else "new")) as training:
        return training.train(report)
