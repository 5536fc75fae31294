"""How long work between two steps, such as mining, is watched: it tells how far it is, and ends where that is wished.

The work is done in blocks, of which all ranks have equally many, so that between two blocks they can exchange what is
wished of any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from cocite.training.engine.kept_blocks import KeptBlocks
from cocite.training.engine.wishes import Wishes
from cocite.training.engine.world import World

Stage = Callable[[str, int], object]
"""Receives, on rank 0, the description of what begins, and its size."""
Advance = Callable[[int], object]
"""Receives, on rank 0, how much of the stage was done since its last call."""


class InterruptedWorkError(Exception):
    """The work was left between two blocks, on all ranks: its result is not whole.

    Example:
        >>> def stop() -> None:
        ...     raise InterruptedWorkError
        >>> try:
        ...     print(list(Watch(look=stop).blocks("mining: papers", 5, size=3)))
        ... except InterruptedWorkError:
        ...     print("left")
        left
    """


def _ignore(*_: object) -> None:
    """Does nothing."""


@dataclass(frozen=True)
class Watch:
    """Whom a piece of work tells how far it is, and asks whether it should go on.

    Attributes:
        look: called before each block, by all ranks together; raises on all of them or on none.
        stage: receives what begins.
        advance: receives how much was done.
        kept: opens the blocks that :meth:`filled` need not do again, and that get those that it has done; None: none
            are kept. All ranks call it together.

    Example:
        >>> watch = Watch(stage=print, advance=print)
        >>> [block for block in watch.blocks("mining: papers", 5, size=3)]
        mining: papers 5
        3
        2
        [slice(0, 3, None), slice(3, 5, None)]
    """

    look: Callable[[], object] = _ignore
    stage: Stage = _ignore
    advance: Advance = _ignore
    kept: Callable[[], KeptBlocks | None] = _ignore

    def blocks(
        self,
        what: str,
        count: int,
        *,
        size: int,
        total: int | None = None,
        world: World | None = None,
    ) -> Iterator[slice]:
        """The blocks of this rank's share of some work, none of them empty. All ranks go through theirs together.

        Args:
            what: is done, in words.
            count: how many things this rank has: a share of ``total`` as of :meth:`~.world.World.share`.
            size: things of a block.
            total: how many all ranks have together; None: these.
            world: the ranks that share them; None: this process alone.

        Raises:
            InterruptedWorkError: the end, or a checkpoint, is wished for.
        """
        total, ranks = count if total is None else total, 1 if world is None else world.size
        self.stage(what, total)
        # The largest share: a rank with one thing less may have no last block, but looks as often as the others.
        for start in range(0, -(-total // ranks), size):
            self.look()
            if start < count:
                yield slice(start, min(start + size, count))
            self.advance(min(start * ranks + size * ranks, total) - start * ranks)

    def filled(
        self,
        what: str,
        into: NDArray[Any],
        *,
        size: int,
        total: int | None = None,
        world: World | None = None,
    ) -> Iterator[slice]:
        """The :meth:`blocks` of an array of this rank's share that are still to be done; the kept ones are filled in.

        Args:
            what: is done, in words; another for each array of one mining.
            into: (n, ...) the caller writes the rows of each block into it before it asks for the next.
            size, total, world: see :meth:`blocks`.

        Raises:
            InterruptedWorkError: the end, or a checkpoint, is wished for.

        Example:
            >>> import numpy as np
            >>> squares = np.zeros(5, int)
            >>> for block in Watch().filled("mining: squares", squares, size=3):
            ...     squares[block] = np.arange(5)[block] ** 2
            >>> squares.tolist()
            [0, 1, 4, 9, 16]
        """
        kept = self.kept()
        for block in self.blocks(what, len(into), size=size, total=total, world=world):
            if kept is not None and kept.take(what, block.start, into[block]):
                continue
            yield block
            if kept is not None:
                kept.keep(what, block.start, into[block])


def looking(wishes: Wishes, world: World, is_saved: Callable[[], bool]) -> Callable[[], None]:
    """What a :class:`Watch` calls before each block: it grants wishes by leaving the work.

    Args:
        wishes: of this rank; any rank's counts for all.
        world: the ranks.
        is_saved: whether a checkpoint of the present step is there, so that a wish for one is granted already.

    Example:
        >>> wishes = Wishes()
        >>> look = looking(wishes, World(), lambda: True)
        >>> wishes.save()
        >>> look()
        >>> wishes.stop()
        >>> look()
        Traceback (most recent call last):
        cocite.training.engine.watch.InterruptedWorkError
    """

    def look() -> None:
        save, stop = world.any_of([wishes.take_save(), wishes.stopping])
        if stop or (save and not is_saved()):
            raise InterruptedWorkError

    return look


@runtime_checkable
class WatchedTask(Protocol):
    """A task whose :meth:`~.task.TrainTask.refresh` takes long, and works in the blocks of a watch.

    Example:
        >>> class Slow:
        ...     watch = Watch()
        >>> isinstance(Slow(), WatchedTask)
        True
    """

    watch: Watch
    """Whom a refresh tells and asks; the engine sets it."""
