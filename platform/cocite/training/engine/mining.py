"""Mining between steps: when it is due, and where its result is kept.

What was mined is no part of a checkpoint: it can be larger than the model, and stays the same from one mining to the
next. A checkpoint from which training goes on with a new mining needs none of it. For any other, the result is an
artifact beside the checkpoints, ``mined-00000120`` with the step that it was mined at, written once. Until there is a
checkpoint of a later step, the blocks of a mining are kept, too (:mod:`cocite.training.engine.kept_blocks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import nn

from cocite.training.engine.checkpoints import Progress, save_tensors
from cocite.training.engine.kept_blocks import KeptBlocks, name_of_mining, remove_others
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.stores import Store, Write
from cocite.training.engine.task import MiningTask, TrainTask
from cocite.training.engine.watch import Watch, WatchedTask
from cocite.training.engine.world import World

FILE = "mined.safetensors"
Save = Callable[[Store, int, Write, Mapping[str, float]], None]
"""Saves a checkpoint into a store: of a step, by what writes it, with its dev metrics. All ranks call it together."""


class Mining:
    """What a task mines in the course of one training.

    Args:
        task: the task.
        settings: how often it mines.
        store: keeps the blocks of a task that works in blocks; None: nothing is kept.
        fingerprint: of the training.

    Attributes:
        step: of the last mining whose result the task has; -1: none.
        blocks: of the last mining, finished or not; None: none are kept.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
        >>> task = build(NNSelectRecipe.parse({"model": {"dimension": 4}}), starter_corpus())
        >>> mining = Mining(task, TrainingSettings())
        >>> mining.refresh(task.model, World(), 0, print)  # so few papers are searched exhaustively: nothing to log
        >>> mining.step, mining.is_due(Progress(step=7, epoch=1)), mining.is_due(Progress(step=8, epoch=1, position=1))
        (0, True, False)
    """

    def __init__(
        self,
        task: TrainTask[Any],
        settings: TrainingSettings,
        store: Store | None = None,
        fingerprint: str = "",
    ) -> None:
        self.task, self.settings, self.store, self.fingerprint = task, settings, store, fingerprint
        self.step = -1
        self.blocks: KeptBlocks | None = None
        self._kept = ""  # name of the artifact that holds what the task has

    def is_due(self, progress: Progress) -> bool:
        """Whether the task mines before the next step."""
        if every := self.settings.refresh_every:
            return progress.step % every == 0
        return progress.position == 0 and progress.epoch % self.settings.refresh_epochs == 0

    def refresh(
        self,
        model: nn.Module,
        world: World,
        step: int,
        log: Callable[[dict[str, float], int], None],
        watch: Watch | None = None,
    ) -> None:
        """Mine anew, and log the metrics of it, where there are any. All ranks call it together.

        Args:
            model: the model with its present weights.
            world: the processes that train together.
            step: steps taken.
            log: receives the metrics.
            watch: whom a task that works in blocks tells and asks.

        Raises:
            InterruptedWorkError: something is wished for; the task has what it had before.
        """
        if isinstance(self.task, WatchedTask):
            self.blocks = None
            # A task that mines nothing is spared the fingerprint of its weights.
            kept = partial(self._open_blocks, model, world, step)
            self.task.watch = replace(watch or self.task.watch, kept=kept)
        self.task.refresh(model, world, step)
        self.step, self._kept = step, ""
        if isinstance(self.task, MiningTask) and self.task.mining_metrics:
            log(dict(self.task.mining_metrics), step)

    def _open_blocks(self, model: nn.Module, world: World, step: int) -> KeptBlocks | None:
        """Find the blocks of the mining that has begun, and the first time remove those of others."""
        if self.store is not None and self.blocks is None:
            place, name = self.store.place, name_of_mining(step, model, world, self.fingerprint)
            if world.first:
                remove_others(place, name, step)
            self.blocks = KeptBlocks(place / name, world.rank)
        return self.blocks

    def keep(self, progress: Progress) -> tuple[dict[str, str], Save]:
        """How a checkpoint is saved from which training goes on with what was mined.

        Returns:
            What its manifest says of it (``mined``: the artifact's name), nothing where none is needed; and what saves
            the checkpoint, after the artifact where that is not kept yet. That may be while the task goes on.
        """
        if not isinstance(self.task, MiningTask) or self.is_due(progress):
            return {}, _save
        if self._kept:
            return {"mined": self._kept}, _save
        mined = self.task.mined()
        if not mined:
            return {}, _save
        self._kept = name = f"mined-{self.step:08d}"

        def save(store: Store, step: int, write: Write, metrics: Mapping[str, float]) -> None:
            store.save_beside(name, lambda folder: save_tensors(folder / FILE, mined), {})
            store.save(step, write, metrics)

        return {"mined": name}, save

    def restore(self, folder: Path, name: str | None) -> None:
        """Give the task what it had mined when a checkpoint was written.

        Args:
            folder: of the checkpoint; the artifact lies beside it, and was verified with it.
            name: ``mined`` of its manifest; None: training goes on with a new mining, or nothing was mined.
        """
        if name is not None and isinstance(self.task, MiningTask):
            # It maps the file, which all ranks of a machine so share.
            self.task.load_mined(load_file(folder.parent / name / FILE))
            self.step, self._kept = int(name.removeprefix("mined-")), name


def _save(store: Store, step: int, write: Write, metrics: Mapping[str, float]) -> None:
    store.save(step, write, metrics)
