"""The training loop: steps, dev metrics, checkpoints, on one process or many.

It runs alone, under torchrun, and inside Ray Train, and draws the same examples in each.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from cocite.errors import CociteError
from cocite.training.engine import checkpoints
from cocite.training.engine.accumulating import accumulated_step
from cocite.training.engine.backends import Backend, in_common_precision, make_backend
from cocite.training.engine.batches import EpochPlan, Piece
from cocite.training.engine.checkpoints import Progress, Saved
from cocite.training.engine.contrastive import contrastive_step
from cocite.training.engine.loader import pinned, prepared, to_device
from cocite.training.engine.meter import Meter, check_number
from cocite.training.engine.mining import Mining
from cocite.training.engine.preparation import prepare
from cocite.training.engine.result import TrainResult
from cocite.training.engine.saver import Saver
from cocite.training.engine.schedule import rate_factor
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.stores import Store
from cocite.training.engine.task import ContrastiveTask, EpochTask, GroupedTask, TrainTask
from cocite.training.engine.watch import InterruptedWorkError, Watch, looking
from cocite.training.engine.wishes import Wishes, stopped
from cocite.training.engine.world import World

Log = Callable[[dict[str, float], int], None]
"""Receives, on rank 0, metrics and the number of optimizer steps taken."""
Advance = Callable[[int], None]
"""Receives, on rank 0, the number of steps taken since its last call."""


def ignore_progress(*_: object) -> None:
    """Does nothing: the default of what receives metrics and progress."""


def train(
    task: TrainTask[Any],
    settings: TrainingSettings,
    *,
    world: World,
    store: Store | None = None,
    fingerprint: str = "",
    log: Log = ignore_progress,
    advance: Advance = ignore_progress,
    stage: Callable[[str], None] = ignore_progress,
    mining: Watch | None = None,
    wishes: Wishes | None = None,
) -> TrainResult:
    """Train a model; every rank calls it, with the same task and settings.

    The mean loss over the examples of a step is minimised, however they are shared out. The dev metric is measured
    before the first step, as often as the settings say, and at the end; the best weights are left in ``task.model``
    on every rank, in evaluation mode. Random numbers are functions of the seed, the step, the rank and the pass, so a
    resumed training ends as one that was never interrupted.

    Args:
        task: model, examples, loss, metric.
        settings: the numbers.
        world: who trains.
        store: where checkpoints are kept; with one in it, training goes on from there. None: nowhere.
        fingerprint: what this training is of; a checkpoint of another is refused.
        log: receives the dev metrics under their names, and every ``log_every`` steps the means since the last time:
            ``loss``, ``learning_rate``, ``gradient_norm``, ``tokens_per_second``, ``mfu``, ``epoch``; those of mining.
        advance: called after each step.
        stage: receives, on rank 0, a description of what a :class:`~.task.PreparedTask` prepares.
        mining: receives, on rank 0, how far a :class:`~.watch.WatchedTask` is that mines.
        wishes: ask for a checkpoint or the end, on any rank, and are granted after a step or between blocks of mining.

    Raises:
        ConfigError: the settings ask for what the model, the backend or this world cannot do.
        InputError: there are no examples, or the checkpoint is of another training.
        IntegrityError: the checkpoint is damaged.
        CociteError: loss, gradient or dev metric is no longer a number, or a checkpoint cannot be written.
        StoppedError: the end was wished for.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
        >>> recipe = NNSelectRecipe.parse({"model": {"dimension": 4}, "training": {"epochs": 2, "batch": 128}})
        >>> task, curve = build(recipe, starter_corpus()), {}
        >>> log = lambda metrics, step: curve.update({step: metrics})
        >>> result = train(task, recipe.training, world=World(), log=log)
        >>> result.reason, result.best["R@20"] == curve[result.best_step]["R@20"]
        ('done', True)
    """
    settings = in_common_precision(settings, world)
    prepare(task, world, store, fingerprint, stage if world.first else ignore_progress)
    told = mining if mining is not None and world.first else Watch()
    return _Training(task, settings, world, store, fingerprint, log, advance, told, wishes or Wishes()).run()


class _Training:
    """The state of one call of :func:`train`."""

    backend: Backend
    began: float
    plan: EpochPlan
    owner: dict[str, int]
    late: bool

    def __init__(
        self,
        task: TrainTask[Any],
        settings: TrainingSettings,
        world: World,
        store: Store | None,
        fingerprint: str,
        log: Log,
        advance: Advance,
        mining: Watch,
        wishes: Wishes,
    ) -> None:
        self.task, self.settings, self.world = task, settings, world
        self.store, self.fingerprint = store, fingerprint
        self.log, self.advance = (log, advance) if world.first else (ignore_progress, ignore_progress)
        self.progress = Progress()
        self.best: dict[str, Tensor] = {}  # this rank's part of the best weights
        self.saved_step, self.saved_at = 0, 0.0
        self.wishes = wishes
        self.saver = Saver(store.world if store is not None else world)
        self.watch = replace(mining, look=looking(wishes, world, self._is_saved))
        self.mining, self.meter = Mining(task, settings, store, fingerprint), Meter(world, settings)

    def run(self) -> TrainResult:
        """Train from the latest checkpoint, or from the beginning, to the end."""
        self._begin()
        self.began = time.monotonic() - self.progress.seconds
        self.saved_at, self.late = self.progress.seconds, False
        try:
            # Step 0 is measured too: a training that only makes the given weights worse keeps them.
            if self.progress.evaluated < 0:
                self._evaluate()
            self.meter.clear()
            self._look_around()
            while self._why_over() is None:
                self._epoch()
            reason = self._why_over() or "done"
            if self.progress.evaluated != self.progress.step:
                self._evaluate()
            if not self._is_saved():
                self._save()
            self.saver.finish()
        finally:
            self.saver.leave()
            self.backend.close()
        checkpoints.leave_whole(self.task.model.eval(), self.best, self.owner, self.world)
        # A rank that ends its process while another still talks to it brings that one down.
        self.world.barrier()
        p = self.progress
        seconds, precision = self._clock(), self.settings.precision
        return TrainResult(
            p.step, p.best_step, p.best, p.last, p.start, seconds, p.tokens, reason, precision, p.total
        )

    def _is_saved(self) -> bool:
        """Whether there is a checkpoint of the present step, or nothing was trained."""
        return self.saved_step == self.progress.step

    def _clock(self) -> float:
        """Seconds that the training has taken so far, resumed parts together."""
        return time.monotonic() - self.began

    def _begin(self) -> None:
        """Open the latest checkpoint, and set up the backend."""
        model = self.task.model
        self.owner = checkpoints.owners(model, self.world.size)
        lengths: Tensor | None = None
        with ExitStack() as stack:
            folder: Path | None = stack.enter_context(self.store.latest()) if self.store is not None else None
            saved = Saved.open(folder, stack, fingerprint=self.fingerprint) if folder is not None else None
            if saved is not None:
                saved.load(model)
                self.task.load_state(saved.state("task"))
                self.progress = saved.progress
                self.saved_step = self.progress.step
                self.mining.restore(saved.folder, saved.meta.get("mined"))
                # Within an epoch the checkpoint has them: the task's may be others since it mined anew.
                lengths = saved.state("epoch").get("lengths")
                self.best = {n: saved.best(n) for n, owner in self.owner.items() if owner == self.world.rank}
            groups = self.task.parameter_groups() if isinstance(self.task, GroupedTask) else ()
            self.backend = make_backend(model, self.settings, self.world, groups)
            if saved is not None:
                self.backend.restore(saved.slots, self.progress.step)
        if self.progress.position:
            self.plan = self._plan(lengths)

    def _plan(self, lengths: Tensor | None = None) -> EpochPlan:
        """The steps of the present epoch, whose lengths a checkpoint may have."""
        known = None if lengths is None else lengths.numpy()
        return EpochPlan.of(self.task, self.settings, self.progress.epoch, self.world, known)

    def _why_over(self) -> Literal["done", "minutes", "patience"] | None:
        """Why no further step is taken; None: there is one."""
        p, s = self.progress, self.settings
        if p.total and p.step >= p.total:
            return "done"
        if s.patience and p.stale >= s.patience:
            return "patience"
        return "minutes" if self.late else None

    def _epoch(self) -> None:
        """The rest of an epoch, or as much of it as there is still to train."""
        p = self.progress
        while True:
            # Refreshed before the lengths are asked for: what is mined may decide which examples there are.
            while self.mining.is_due(p) and not self._mine():
                pass
            if p.position == 0:
                self.plan = self._plan()
                p.total = p.total or self.settings.steps or self.settings.epochs * self.plan.steps
            # Batches are prepared ahead only as far as nothing is mined anew.
            ahead = min(self.plan.steps - p.position, p.total - p.step)
            if every := self.settings.refresh_every:
                ahead = min(ahead, every - p.step % every)
            if not self._steps(ahead) or p.position == 0:
                return

    def _mine(self) -> bool:
        """Mine anew; False: it was left for a checkpoint, after which it goes on, or begins again."""
        try:
            with self.meter.paused(), self.backend.whole() as model:
                self.mining.refresh(model, self.world, self.progress.step, self.log, self.watch)
        except InterruptedWorkError:
            if not self._is_saved():
                self._save()
            if self.world.any_of([self.wishes.stopping])[0]:
                blocks = self.mining.blocks
                self._stop("while mining after step", blocks=blocks is not None and blocks.any_kept)
            return False
        return True

    def _stop(self, when: str, *, blocks: bool = False) -> None:
        """End the training, whose last checkpoint is of the present step."""
        self.saver.finish()
        kept = self.store is not None and self.progress.step > 0
        raise stopped(when, self.progress.step, kept=kept, blocks=blocks)

    def _steps(self, count: int) -> bool:
        """Take some steps of the present epoch; False: training is over."""
        p, world, plan = self.progress, self.world, self.plan
        epoch, positions = p.epoch, range(p.position, p.position + count)
        ahead: deque[list[list[Piece]]] = deque()  # the steps whose batches are being prepared

        def pieces() -> Iterator[Piece]:
            for position in positions:
                ahead.append(plan.pieces(position, world.size))
                yield from ahead[-1][world.rank]

        def collate(piece: Piece) -> Any:
            return pinned(self.task.collate(piece.examples, epoch), world.device)

        with prepared(collate, pieces(), threads=self.settings.loader_threads) as batches:
            for _ in positions:
                # The first batch brings its step's pieces with it.
                first = next(batches)
                shares = ahead.popleft()
                rest = islice(batches, len(shares[world.rank]) - 1)
                self._step([to_device(batch, world.device) for batch in (first, *rest)], shares)
                if self._why_over() is not None:
                    return False
        return True

    def _look_around(self) -> tuple[bool, bool]:
        """Whether a checkpoint is due whatever the step, and whether the end is wished for; sees to the clock, too."""
        s, world = self.settings, self.world
        # Clocks differ between ranks, and all must take the same number of steps: rank 0's decides. Any rank's wish
        # counts.
        clock = self._clock() if world.first else 0.0
        late = s.minutes is not None and clock >= 60 * s.minutes
        due = s.checkpoint_minutes is not None and clock >= self.saved_at + 60 * s.checkpoint_minutes
        asked = world.any_of([late, due or self.wishes.take_save(), self.wishes.stopping])
        self.late = asked[0]
        return asked[1] and not self._is_saved(), asked[2]

    def _step(self, batches: list[Any], shares: list[list[Piece]]) -> None:
        """One optimizer step, and what is due after it.

        Args:
            batches: of this rank.
            shares: the pieces of all ranks.
        """
        p, world = self.progress, self.world
        mine = shares[world.rank]
        examples = self.plan.examples(p.position)
        if isinstance(self.task, ContrastiveTask):
            loss = contrastive_step(self.task, self.backend, world, batches, shares, p.epoch, self._seed)
        else:
            loss = accumulated_step(self.task, self.backend, world, batches, mine, len(examples), self._seed)
        value = float(loss)
        # Before the step: the weights and the last checkpoint must not take in what is no number.
        check_number(value, "loss", p.step)
        schedule = self.settings.schedule
        share = rate_factor(schedule, p.step, p.total) * schedule.plateau**p.plateaus
        rate = self.settings.optimizer.learning_rate * share
        norm = self.backend.step(rate)
        check_number(norm, "gradient", p.step)
        p.tokens += (tokens := int(self.plan.lengths[examples].sum()))
        flops = sum(self.task.flops(b) for b, piece in zip(batches, mine, strict=True) if piece.counted)
        p.step, p.position = p.step + 1, p.position + 1
        done = p.epoch + p.position / self.plan.steps
        if p.position == self.plan.steps:
            p.epoch, p.position = p.epoch + 1, 0
        self.meter.add(value, rate, norm, tokens, flops)
        if p.step % self.settings.log_every == 0:
            self.log(self.meter.read() | {"epoch": done}, p.step)
        self.advance(1)
        self._after()

    def _seed(self, number: int) -> None:
        """Random numbers of a pass: a function of seed, step, rank and the pass's number."""
        # A function of the step rather than of a running generator, so that a resumed training draws the same.
        key = [self.settings.seed, self.progress.step, self.world.rank, number]
        torch.manual_seed(int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> np.uint64(1)))

    def _after(self) -> None:
        """Evaluate and save, where that is due."""
        p, s = self.progress, self.settings
        evaluated = p.step % s.evaluate_every == 0 if s.evaluate_every else p.position == 0
        if evaluated:
            self._evaluate()
        due, stopping = self._look_around()
        if due or stopping or (p.step % s.checkpoint_every == 0 if s.checkpoint_every else evaluated):
            self._save()
        if stopping:
            self._stop("after step")

    def _evaluate(self) -> None:
        """Measure the dev metric, and keep the weights if they are the best so far."""
        p = self.progress
        with self.meter.paused():
            with self.backend.whole() as model:
                metrics = self.task.evaluate(model, self.world)
            value = metrics[self.task.metric]
            if not math.isfinite(value):
                raise CociteError(
                    f"the dev metric {self.task.metric} is {value} at step {p.step}",
                    where="training",
                    hint="check that the dev split has examples",
                )
            p.last, p.evaluated = metrics, p.step
            if p.step == 0:
                p.start = metrics
            if p.best_step < 0 or value > p.best[self.task.metric]:
                p.best, p.best_step, p.stale = metrics, p.step, 0
                # Each rank keeps its part on the CPU: a whole copy on every device would take the memory that ZeRO
                # saves.
                own = checkpoints.own_slots(self.backend, self.owner, self.world.rank, moments=False)
                self.best = {name: slots["weight"] for name, slots in own.items()}
            else:
                p.stale, p.plateaus = p.stale + 1, p.plateaus + 1
        self.log(metrics, p.step)

    def _save(self) -> None:
        """Make a checkpoint of the present step, beside further steps where the store can."""
        store, p = self.store, self.progress
        if store is None:
            return
        with self.meter.paused():
            p.seconds = self._clock()
            state = {f"task:{key}": value for key, value in self.task.state().items()}
            again = isinstance(self.task, EpochTask) or isinstance(self.plan.lengths, np.memmap)
            if p.position and not again:  # lengths that are mapped are an input
                state["epoch:lengths"] = torch.from_numpy(self.plan.lengths)
            metrics = p.last if p.evaluated == p.step else {}
            mined, save = self.mining.keep(p)
            write = checkpoints.snapshot(
                self.backend,
                self.owner,
                store.world,
                # Weights of this very step are in the checkpoint already: see ``Saved.best``.
                best=self.best if p.best_step != p.step else {},
                state=state,
                progress=p,
                meta={"fingerprint": self.fingerprint, "step": p.step, "metrics": metrics, **mined},
            )
            step = p.step
            self.saver.start(lambda: save(store, step, write, metrics))
            self.saved_step, self.saved_at = step, p.seconds
