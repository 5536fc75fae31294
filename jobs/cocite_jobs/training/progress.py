"""Progress of a training: the callback that a caller passes, and the events that a worker sends to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from cocite.progress_bars import ProgressBars, StagedBars
from cocite.training.engine.settings import TrainingSettings

Event = tuple[str, Any, int]
"""``("log", metrics, step)``, ``("at", total steps, step)``, ``("stage", description, size)`` or ``("advance", "",
count)``: plain values, which Ray can send from one process to another."""
POSITION_INTERVAL_S = 0.5
"""Least time between two events of the position, so that a fast training does not flood the channel."""


def ignore_progress(*_: object) -> None:
    """Do nothing: the default of each function of a :class:`ProgressFunctions`."""


class ProgressCallback(Protocol):
    """The functions that a training calls while it runs; :class:`ProgressFunctions` makes one of up to three functions.

    Example:
        >>> class Counter:
        ...     done = 0
        ...     def log(self, metrics, step): pass
        ...     def stage(self, description, total): pass
        ...     def advance(self, count): self.done += count
        >>> progress: ProgressCallback = Counter()
        >>> progress.advance(3)
        >>> progress.done
        3
    """

    def log(self, metrics: dict[str, float], step: int, /) -> None:
        """Take the metrics of an epoch, or, from kinds that the training engine trains, of an optimizer step."""
        ...

    def stage(self, description: str, total: int, /) -> None:
        """Take the description of the stage that begins, and its number of batches or steps (0: unknown)."""
        ...

    def advance(self, count: int, /) -> None:
        """Take the number of batches or steps done since the last call."""
        ...


@dataclass(frozen=True)
class ProgressFunctions:
    """A :class:`ProgressCallback` made of three functions, each of which may be left out.

    Attributes:
        log: takes metrics, and the number of the epoch or step that they belong to.
        stage: takes the description of the stage that begins, and its number of batches or steps (0: unknown).
        advance: takes the number of batches or steps done since the last call.

    Example:
        >>> progress = ProgressFunctions(log=lambda metrics, epoch: print(f"epoch {epoch}: {metrics}"))
        >>> progress.stage("training", 10)
        >>> progress.log({"MRR": 0.25}, 1)
        epoch 1: {'MRR': 0.25}
    """

    log: Callable[[dict[str, float], int], None] = ignore_progress
    stage: Callable[[str, int], None] = ignore_progress
    advance: Callable[[int], None] = ignore_progress


@contextmanager
def progress_on_bars(bars: ProgressBars, name: str) -> Iterator[ProgressFunctions]:
    """Show the stages of a training on one bar after another.

    Args:
        bars: makes each of them.
        name: of the training, which stands before the name of each stage.

    Example:
        >>> from cocite.progress_bars import no_bars
        >>> with progress_on_bars(no_bars, "training nnselect") as progress:
        ...     progress.stage("words: papers", 300)
        ...     progress.advance(300)
    """
    with StagedBars(bars, name) as staged:
        yield ProgressFunctions(stage=staged.stage, advance=staged.advance)


class ProgressSender:
    """Turns the calls of the training engine's loop on rank 0 into events.

    Args:
        send: takes each event.
        settings: of the training; they say how long it is.

    Example:
        >>> sender = ProgressSender(print, TrainingSettings(steps=20))
        >>> sender.stage("loading the corpus")
        ('stage', 'loading the corpus', 0)
        >>> sender.log({"loss": 0.5}, 10)
        ('log', {'loss': 0.5}, 10)
        >>> sender.advance(20)
        ('at', 20, 20)
    """

    def __init__(self, send: Callable[[Event], None], settings: TrainingSettings) -> None:
        self.send, self.epochs = send, settings.epochs
        self.step, self.total = 0, settings.steps or 0
        self.entries: list[tuple[dict[str, float], int]] = []  # all that was logged
        self._sent_at = 0.0
        self._stages = StageSender(send)

    def stage(self, description: str, total: int = 0) -> None:
        """Send the description of the stage that begins, and its size (0: unknown)."""
        self._stages.stage(description, total)

    def count(self, count: int) -> None:
        """Count what was done of the stage; the count is sent if the last one was sent long enough ago."""
        self._stages.advance(count)

    def resume(self, step: int, logged: Sequence[tuple[Mapping[str, float], int]] = ()) -> None:
        """Continue at a step, and send the entries logged up to it again.

        Events that were on their way when the driver was killed never reached a receiver; a receiver that has an
        entry already drops its repetition.
        """
        self.step = step
        self.stage(f"going on from step {step}")
        for metrics, at in logged:
            self.log(metrics, at)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Send the metrics of a step, and keep them among :attr:`entries`."""
        epoch = metrics.get("epoch", 0.0)
        if not self.total and epoch:  # steps so far, and the share of an epoch that they are
            self.total = round(step / epoch * self.epochs)
        self.entries.append((dict(metrics), step))
        self.send(("log", dict(metrics), step))

    def advance(self, steps: int) -> None:
        """Count steps, and send the position if the last one was sent long enough ago."""
        self.step += steps
        self._stages.flush()
        now = time.monotonic()
        if now - self._sent_at >= POSITION_INTERVAL_S or self.step == self.total:
            self._sent_at = now
            self.send(("at", self.total, self.step))


class StageSender:
    """A :class:`ProgressCallback` that turns the stages of what is made for another process, and counts, into events.

    Args:
        send: takes each event; not more often than every :data:`POSITION_INTERVAL_S` one that counts.

    Example:
        >>> sender = StageSender(print)
        >>> sender.stage("words: papers", 300)
        ('stage', 'words: papers', 300)
        >>> for count in (100, 150, 50):
        ...     sender.advance(count)
        >>> sender.flush()
        ('advance', '', 300)
    """

    def __init__(self, send: Callable[[Event], object]) -> None:
        self.send = send
        self._count = 0
        self._sent_at = 0.0

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Send metrics."""
        self.send(("log", dict(metrics), step))

    def stage(self, description: str, total: int) -> None:
        """Send the description of the stage that begins, and its size; first what is left of the stage before."""
        self.flush()
        self._sent_at = time.monotonic()
        self.send(("stage", description, total))

    def advance(self, count: int) -> None:
        """Count what was done, and send the count if the last one was sent long enough ago."""
        self._count += count
        if time.monotonic() - self._sent_at >= POSITION_INTERVAL_S:
            self.flush()

    def flush(self) -> None:
        """Send what was counted since the last event."""
        if self._count:
            count, self._count = self._count, 0
            self._sent_at = time.monotonic()
            self.send(("advance", "", count))


class ProgressReceiver:
    """Passes events on to a callback: each metric of each step once, however often replaced workers repeat the step.

    Args:
        progress: called for each event.
        name: of the training, which is the description of its stage of steps.

    Example:
        >>> receiver = ProgressReceiver(ProgressFunctions(log=lambda metrics, step: print(step, metrics)), "hatten")
        >>> receiver.receive(("log", {"loss": 2.0}, 1))
        1 {'loss': 2.0}
        >>> receiver.receive(("log", {"loss": 2.0}, 1))
        >>> receiver.receive(("log", {"loss": 1.5}, 2))
        2 {'loss': 1.5}
    """

    def __init__(self, progress: ProgressCallback, name: str) -> None:
        self.progress, self.name = progress, name
        self._logged: dict[str, int] = {}
        self._total = self._shown = 0
        self._elsewhere = True  # whether no stage began, or another one after that of the steps

    def receive(self, event: Event) -> None:
        """Pass one event on."""
        what, value, step = event
        if what == "log":
            new = {name: number for name, number in value.items() if step > self._logged.get(name, -1)}
            self._logged |= dict.fromkeys(new, step)
            if new:
                self.progress.log(new, step)
        elif what == "at":
            if value != self._total or self._elsewhere:
                self._total, self._shown, self._elsewhere = value, 0, False
                self.progress.stage(self.name, value)
            if step > self._shown:
                self.progress.advance(step - self._shown)
                self._shown = step
        elif what == "advance":
            self.progress.advance(step)
        else:
            self._elsewhere = True
            self.progress.stage(value, step)
