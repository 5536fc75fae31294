"""The training loop: epochs of batches, a dev metric after each, the best weights kept, resumable.

It knows nothing of what is trained: a :class:`Task` brings batches, loss and metric.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from cocite.bounds import Epochs, GradientNorm, LearningRate, Minutes, PositiveShare, Seed
from cocite.config import Settings
from cocite.errors import CociteError
from cocite.training import checkpoint as checkpoints

B = TypeVar("B")

Log = Callable[[dict[str, float], int], None]
"""Told the metrics of an epoch, and the epoch's number (from 0: before any training)."""
Advance = Callable[[int], None]
"""Told how many batches were done since it was last told."""


def silent(*_: object) -> None:
    """Tells nobody."""


class LoopSettings(Settings):
    """How long to train, and when to stop."""

    epochs: Epochs = 10
    """At most so many passes."""
    patience: Epochs = 3
    """Stop after so many epochs without a better dev metric than the best so far, the start's included."""
    learning_rate: LearningRate = 0.01
    decay: PositiveShare = 1.0
    """The learning rate is multiplied by this after each epoch that was no better than the best."""
    clip: GradientNorm = 0.0
    """Gradients are scaled down to this norm (0: never); sparse ones are left as they are."""
    minutes: Minutes | None = None
    """No further epoch begins after so many minutes."""
    seed: Seed = 0


class Task(Protocol[B]):
    """A training: the model, its batches, its loss and its measure."""

    @property
    def model(self) -> nn.Module:
        """What is trained."""
        ...

    @property
    def metric(self) -> str:
        """The dev metric that decides which epoch is best; greater is better."""
        ...

    def batches(self, epoch: int) -> Iterable[B]:
        """The batches of an epoch (from 1), a function of the seed, the epoch and the present weights alone."""
        ...

    def loss(self, batch: B) -> Tensor:
        """The scalar loss of a batch."""
        ...

    def evaluate(self) -> dict[str, float]:
        """Dev metrics of the present weights."""
        ...


@dataclass
class FitResult:
    """How a training went. The model is left with the weights of the best epoch."""

    best_epoch: int
    """0: no epoch was better than the untrained model."""
    best: dict[str, float]
    """Dev metrics of the best epoch."""
    epochs: list[dict[str, float]] = field(default_factory=list)
    """Metrics of each epoch, number 0 being the untrained model."""
    seconds: float = 0.0

    def kept(self, metric: str) -> str:
        """Which weights were kept, in words: those of the best of all evaluations by ``metric``, the start included."""
        return kept_sentence(
            metric, self.best_epoch, self.best[metric], self.epochs[0][metric], steps="epoch"
        )


def kept_sentence(metric: str, best_at: int, best: float, start: float | None, *, steps: str) -> str:
    """Which weights a training kept, in words.

    Args:
        metric: the dev metric that decides.
        best_at: number of the epoch or step that was best; 0: the start.
        best: its metric.
        start: the metric of the start, where it is known.
        steps: ``epoch`` or ``step``.
    """
    if best_at == 0:
        return (
            f"no {steps} was better than the start ({metric} {best:.3f}): the weights of the start are kept"
        )
    known = f"; the start had {start:.3f}" if start is not None else ""
    return f"{steps} {best_at} was best ({metric} {best:.3f}{known}): its weights are kept"


def optimizers_for(
    model: nn.Module,
    learning_rate: float,
    *,
    sparse: Iterable[nn.Parameter] = (),
) -> list[torch.optim.Optimizer]:
    """Adam for a model, and its lazy form for tables whose gradients are sparse."""
    tables = [parameter for parameter in sparse if parameter.requires_grad]
    chosen = {id(parameter) for parameter in tables}
    dense = [p for p in model.parameters() if p.requires_grad and id(p) not in chosen]
    result: list[torch.optim.Optimizer] = []
    if dense:
        result.append(torch.optim.Adam(dense, lr=learning_rate))
    if tables:
        result.append(torch.optim.SparseAdam(tables, lr=learning_rate))
    return result


def fit(
    task: Task[Any],
    optimizers: Sequence[torch.optim.Optimizer],
    settings: LoopSettings,
    *,
    checkpoint: Path | None = None,
    fingerprint: str = "",
    log: Log = silent,
    advance: Advance = silent,
) -> FitResult:
    """Train until the epochs are done, the dev metric stands still, or the minutes are over.

    The model is left with the weights of the best evaluation, the one before any training included.

    Args:
        task: model, batches, loss, metric.
        optimizers: see :func:`optimizers_for`.
        settings: limits.
        checkpoint: folder written after each epoch; when it is there already, training goes on from it and ends
            with the same weights as if it had never stopped.
        fingerprint: what this training is of; a checkpoint of another is refused.
        log: told each epoch's metrics.
        advance: told of each batch.

    Raises:
        CociteError: when the loss is no longer a finite number.
    """
    began = time.monotonic()
    model = task.model
    best = {name: value.clone() for name, value in model.state_dict().items()}
    if checkpoint is not None and checkpoint.is_dir():
        best, progress = checkpoints.load(checkpoint, model, optimizers, fingerprint=fingerprint)
        result = FitResult(progress["best_epoch"], progress["best"], progress["epochs"], progress["seconds"])
    else:
        first = task.evaluate()
        log(first, 0)
        result = FitResult(0, first, [first])
    before = result.seconds

    for epoch in range(len(result.epochs), settings.epochs + 1):
        late = settings.minutes is not None and (time.monotonic() - began + before) / 60 > settings.minutes
        if late or epoch - 1 - result.best_epoch >= settings.patience:
            break
        mean = _train_epoch(task, optimizers, settings, epoch, advance)
        metrics = {"loss": mean} | task.evaluate()
        metrics["seconds"] = result.seconds = time.monotonic() - began + before
        result.epochs.append(metrics)
        log(metrics, epoch)
        if metrics[task.metric] > result.best[task.metric]:
            result.best_epoch, result.best = epoch, metrics
            best = {name: value.clone() for name, value in model.state_dict().items()}
        else:
            for group in (group for optimizer in optimizers for group in optimizer.param_groups):
                group["lr"] *= settings.decay
        if checkpoint is not None:
            progress = {k: getattr(result, k) for k in ("best_epoch", "best", "epochs", "seconds")}
            checkpoints.save(checkpoint, model, best, optimizers, progress, fingerprint=fingerprint)
    model.load_state_dict(best)
    return result


def _train_epoch(
    task: Task[Any],
    optimizers: Sequence[torch.optim.Optimizer],
    settings: LoopSettings,
    epoch: int,
    advance: Advance,
) -> float:
    """One pass; returns the mean loss of its batches."""
    # What an epoch draws depends on the seed and its number only, so a resumed training draws the same.
    torch.manual_seed(settings.seed * 100_003 + epoch)
    task.model.train()
    total, count = 0.0, 0
    dense = [
        p
        for o in optimizers
        if not isinstance(o, torch.optim.SparseAdam)
        for g in o.param_groups
        for p in g["params"]
    ]
    for batch in task.batches(epoch):
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = task.loss(batch)
        value = float(loss.detach())
        if value != value or abs(value) == float("inf"):
            raise CociteError(
                f"the loss became {value} in epoch {epoch}, batch {count + 1}",
                where="training",
                hint="lower learning_rate, or set clip",
            )
        torch.autograd.backward(loss)
        if settings.clip:
            nn.utils.clip_grad_norm_(dense, settings.clip)
        for optimizer in optimizers:
            optimizer.step()
        total, count = total + value, count + 1
        advance(1)
    task.model.eval()
    return total / max(count, 1)
