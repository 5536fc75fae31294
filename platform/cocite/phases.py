"""Tells whoever asked which phase of a computation begins and ends, so that a server can time them.

The library names its phases and knows nothing of traces; without an observer a phase costs a look at a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

Observer = Callable[[str], AbstractContextManager[object]]
"""Takes the name of a phase; what it returns is entered when the phase begins, and left when it ends."""
_OBSERVER: ContextVar[Observer | None] = ContextVar("cocite observer of phases", default=None)


def phase(name: str) -> AbstractContextManager[object]:
    """A block of a computation, by its name.

    Example:
        >>> with phase("encode"):  # nobody observes it
        ...     pass
    """
    observer = _OBSERVER.get()
    return nullcontext() if observer is None else observer(name)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Tell an observer of the phases within this block, in this thread or task.

    Example:
        >>> seen = []
        >>> @contextmanager
        ... def note(name):
        ...     seen.append(name)
        ...     yield
        >>> with observed(note), phase("encode"):
        ...     pass
        >>> seen
        ['encode']
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)
