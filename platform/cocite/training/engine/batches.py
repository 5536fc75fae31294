"""Chooses the examples of each optimizer step, and divides them among workers and forward passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import scratch_numbers
from cocite.errors import InputError
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.task import EpochTask, Examples, OrderedTask, TrainTask
from cocite.training.engine.world import World


@dataclass(frozen=True)
class Piece:
    """The examples that one worker takes through one forward pass.

    Attributes:
        examples: their numbers.
        counted: False for a stand-in: workers must all run equally many passes, so one that has nothing left runs an
            example of the step again, with a loss of weight 0.

    Example:
        >>> Piece(np.array([3, 5])).counted
        True
    """

    examples: Examples
    counted: bool = True


class EpochPlan:
    """The steps of one epoch: a function of lengths, settings, seed and epoch, whoever asks.

    Examples are shuffled, sorted by length within pools of ``sort_within`` steps, cut into steps of ``batch``
    examples, and the steps shuffled. What is left over makes a smaller last step, drawn at random. Where the task has
    drawn the order itself (``ordered``), steps are cut from the examples as they stand. A step's examples do not
    depend on the number of workers; how they are shared out does.

    The order of the examples lies in a temporary file, and lengths that are mapped stay so: a plan takes 8 bytes a step
    of memory, however many examples there are.

    Attributes:
        steps: how many there are.
        lengths: (n,) tokens of each example, at least 1.

    Example:
        >>> plan = EpochPlan(np.array([7, 2, 9, 4, 5]), TrainingSettings(batch=2, tokens=10), epoch=0)
        >>> plan.steps, sorted(np.concatenate([plan.examples(step) for step in range(3)]).tolist())
        (3, [0, 1, 2, 3, 4])
        >>> [piece.examples.tolist() for piece in EpochPlan(np.array([7, 2, 9]), TrainingSettings(batch=3, tokens=10),
        ...     epoch=0).pieces(0, workers=1)[0]]
        [[2], [0, 1]]
    """

    def __init__(
        self, lengths: NDArray[np.int64], settings: TrainingSettings, epoch: int, *, ordered: bool = False
    ) -> None:
        if not len(lengths):
            raise InputError(
                f"epoch {epoch} has no examples",
                where="training",
                hint="check the training years, the split and the filters of the recipe",
            )
        lengths = np.asanyarray(lengths, dtype=np.int64)
        self.lengths = lengths if lengths.min() > 0 else np.maximum(lengths, 1)
        self.tokens, self._batch = settings.tokens, settings.batch
        self._full, rest = divmod(len(lengths), self._batch)
        self.steps = self._full + bool(rest)
        self._order: Examples | None = None
        if not ordered:
            rng = np.random.default_rng([settings.seed, epoch])
            self._order = self._shuffled(rng, self._batch * settings.sort_within)
            # Steps of a pool lie in order of length now, and would be trained from the shortest to the longest.
            self._turns = rng.permutation(self._full)

    @classmethod
    def of(
        cls,
        task: TrainTask[Any],
        settings: TrainingSettings,
        epoch: int,
        world: World,
        lengths: NDArray[np.int64] | None = None,
    ) -> EpochPlan:
        """The steps of a task's epoch. All ranks call it together.

        Args:
            task: whose epoch begins, or is gone on with.
            settings: of the training.
            epoch: its number.
            world: the ranks.
            lengths: of the epoch's examples, where a checkpoint has them.
        """
        if isinstance(task, EpochTask):
            task.begin_epoch(epoch, world)
        ordered = isinstance(task, OrderedTask) and task.is_ordered
        return cls(task.lengths(epoch) if lengths is None else lengths, settings, epoch, ordered=ordered)

    def _shuffled(self, rng: np.random.Generator, pool: int) -> Examples:
        """(n,) all examples at random, those of the full steps sorted by length within pools of so many examples."""
        count = len(self.lengths)
        order = scratch_numbers(0, count)
        rng.shuffle(order)
        full = self._full * self._batch
        for start in range(0, full, pool):
            part = order[start : min(start + pool, full)]
            # Of equal lengths the permutation decides.
            part[:] = part[np.argsort(self.lengths[part], kind="stable")]
        return order

    def examples(self, step: int) -> Examples:
        """(b,) examples of a step, the longest first."""
        place = step if self._order is None or step == self._full else int(self._turns[step])
        first, last = place * self._batch, min((place + 1) * self._batch, len(self.lengths))
        chosen = np.arange(first, last) if self._order is None else self._order[first:last]
        return chosen[np.argsort(-self.lengths[chosen], kind="stable")]

    def pieces(self, step: int, workers: int) -> list[list[Piece]]:
        """The forward passes of each worker: equally many for all, each of at most ``tokens`` tokens.

        An example that is longer than that has a pass of its own. Within a worker's share passes hold examples of
        like length, and about equally many tokens.

        Args:
            step: number of the step, from 0.
            workers: how many share it.
        """
        examples = self.examples(step)
        shares = [examples[mine] for mine in _positions_of_workers(len(examples), workers)]
        lengths = [self.lengths[share] for share in shares]
        count = max(len(_filled(part, self.tokens)) for part in lengths)
        return [
            # The last example is the step's shortest, and so the cheapest stand-in.
            _padded(np.split(share, _cut(part, count, self.tokens)), count, examples[-1:])
            for share, part in zip(shares, lengths, strict=True)
        ]


def _positions_of_workers(count: int, workers: int) -> list[NDArray[np.int64]]:
    """Positions of each worker's examples, sorted by size: given out to and fro, so that sums are near."""
    position = np.arange(count)
    turn, column = position // workers, position % workers
    owner = np.where(turn % 2, workers - 1 - column, column)
    return [np.flatnonzero(owner == worker) for worker in range(workers)]


def _filled(lengths: NDArray[np.int64], capacity: int) -> list[int]:
    """The end of each pass when passes are filled one after the other up to ``capacity``."""
    ends: list[int] = []
    total = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        before = total[start - 1] if start else 0
        # At least one example a pass, though it be longer than the capacity.
        start = max(start + 1, int(np.searchsorted(total, before + capacity, side="right")))
        ends.append(start)
    return ends


def _cut(lengths: NDArray[np.int64], count: int, capacity: int) -> list[int]:
    """The places to cut a share at so that it makes ``count`` passes (fewer if it has fewer examples) of even size."""
    if not len(lengths):
        return []
    low = max(int(lengths.max()), -(-int(lengths.sum()) // count))
    high = max(low, capacity)
    while low < high:  # the smallest capacity that still needs no more passes
        middle = (low + high) // 2
        if len(_filled(lengths, middle)) <= count:
            high = middle
        else:
            low = middle + 1
    ends = _filled(lengths, high)
    # Greedy passes may be fewer than the other workers': halving one costs less than a stand-in's extra pass.
    while len(ends) < min(count, len(lengths)):
        starts = [0, *ends[:-1]]
        widest = max(range(len(ends)), key=lambda k: ends[k] - starts[k])
        ends.insert(widest, (starts[widest] + ends[widest]) // 2)
    return ends[:-1]


def _padded(parts: list[Examples], count: int, stand_in: Examples) -> list[Piece]:
    """A worker's passes, filled up to ``count`` with stand-ins."""
    pieces = [Piece(part) for part in parts if len(part)]
    return pieces + [Piece(stand_in, counted=False)] * (count - len(pieces))
