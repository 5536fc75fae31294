"""What a replica tells beside its answers: spans of what it does, and log lines that name the requests they are of."""

from __future__ import annotations

import logging

from cocite_serve.replicas.kept_lines import keep_lines
from cocite_serve.tracing.exporting import flush, start
from cocite_serve.tracing.origins import request_ids

SERVE = "ray.serve"
"""The logger whose lines Ray Serve writes into the file of a replica."""
LIBRARY = "cocite"
"""The logger of the library, and above those of all its modules."""
_begun = False
"""Whether this process is a replica that tells what it does."""


class ToServe(logging.Handler):
    """Passes the library's lines to Ray Serve's log, with the ids of the requests that the thread works for.

    Ray Serve knows the request of a task, and puts its id into the lines that the task logs. The thread that computes
    is no task, and works for several requests at a time.

    Example:
        >>> ToServe().level == logging.NOTSET
        True
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a line on."""
        if ids := request_ids():
            record.request_id = ids
        logging.getLogger(SERVE).handle(record)


class Replica:
    """A class whose object is all that a replica holds: when Ray Serve ends the replica, it calls ``__del__``.

    Example:
        >>> class Shard(Replica):
        ...     def __init__(self): begin_reporting("shard")
        >>> del Shard
    """

    def __del__(self) -> None:
        # In a process of its own alone: elsewhere other objects live on, and nobody may be kept waiting here.
        if _begun:
            flush()


def replica_name() -> str | None:
    """The name of the replica that this process is, as its log lines have it; None: it is none of Ray Serve's."""
    from ray import serve  # Ray is for processes that serve alone
    from ray.serve.exceptions import RayServeException

    try:
        return str(serve.get_replica_context().replica_tag)
    except RayServeException:
        return None


def begin_reporting(name: str) -> None:
    """Let this process, if it is a replica, tell what it does.

    Args:
        name: of what it is: ``gateway``, ``retriever``, ``reranker`` or ``shard``.
    """
    global _begun
    if replica_name() is None:
        return
    _begun = True
    start(f"cocite-{name}")
    keep_lines(logging.getLogger(SERVE), f"replica-{name}")
    logger = logging.getLogger(LIBRARY)
    if not any(isinstance(handler, ToServe) for handler in logger.handlers):
        logger.addHandler(ToServe())
