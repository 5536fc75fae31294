"""Progress bars that a job is given: the command line draws them, other callers need none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

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
