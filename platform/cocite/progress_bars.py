"""Progress bars that long work is given: the command line draws them, other callers need none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Self

Advance = Callable[[int], None]
"""Called with the number of items that were done since the last call."""
ProgressBars = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Makes a bar from a description and a total (None: unknown): a context manager that yields its :data:`Advance`."""


@contextmanager
def no_bars(description: str, total: int | None = None) -> Iterator[Advance]:  # noqa: ARG001
    """Draw nothing: the bars of a job whose caller gave none.

    Example:
        >>> with no_bars("ranking", 100) as advance:
        ...     advance(64)
    """
    yield lambda *_: None


class StagedBars:
    """One progress bar after another, one for each stage of a long piece of work.

    Args:
        bars: makes each of them.
        name: of the work, which stands before the name of each stage.

    Example:
        >>> from cocite.progress_bars import StagedBars, no_bars
        >>> with StagedBars(no_bars, "training nnselect") as progress:
        ...     progress.stage("epoch 1", 2)
        ...     progress.advance(2)
        ...     progress.stage("writing the model", 0)  # of unknown length
    """

    def __init__(self, bars: ProgressBars, name: str = "") -> None:
        self._bars, self._name = bars, name
        self._stage = ExitStack()
        self._advance: Advance = lambda _: None

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of ``total`` steps (0: unknown); the stage before it ends."""
        self._stage.close()
        full = f"{self._name}: {name}" if self._name else name
        self._advance = self._stage.enter_context(self._bars(full, total or None))

    def advance(self, count: int) -> None:
        """Count steps of the present stage that are done."""
        self._advance(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the present stage's bar; a stage that an error cut short is not reported as done."""
        self._stage.__exit__(kind, error, trace)
