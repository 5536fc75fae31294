"""Which requests the work of a thread or task is done for.

A gateway's task works for one request, a stage's step for all requests whose pairs or queries it computes together.
Log lines get the ids of these requests, spans their traces, and calls to other processes carry both along.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Origin(NamedTuple):
    """A request that work is done for.

    Example:
        >>> Origin("5f0c").traceparent
        ''
    """

    request_id: str
    """The id that the client got or sent."""
    traceparent: str = ""
    """The span under which this work belongs, as W3C Trace Context writes it; empty: the request is not traced."""


Origins = tuple[Origin, ...]
_ORIGINS: ContextVar[Origins] = ContextVar("cocite origins", default=())


def origins() -> Origins:
    """The requests that this thread or task works for; a call to another process passes them on.

    Example:
        >>> origins()
        ()
    """
    return _ORIGINS.get()


@contextmanager
def working_for(requests: Origins) -> Iterator[None]:
    """Work for some requests within this block.

    Example:
        >>> with working_for((Origin("5f0c"), Origin("77aa"))):
        ...     request_ids()
        '5f0c 77aa'
    """
    token = _ORIGINS.set(requests)
    try:
        yield
    finally:
        _ORIGINS.reset(token)


def request_ids() -> str:
    """The ids of the requests that this thread or task works for, with blanks between them."""
    return " ".join(origin.request_id for origin in origins())
