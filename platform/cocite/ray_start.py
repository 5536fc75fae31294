"""Turns the errors of a Ray that does not start into one sentence with what to do, for jobs and the endpoint.

Ray is not imported here: its errors are recognised by their texts.
"""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cocite.errors import CociteError, InputError
from cocite.write_errors import FULL, system_error

ANSWER_S = 5.0
"""Seconds for a cluster to take a connection."""
SLOW = ("timed out", "Timed out", "TimeoutError", "not available after", "wait for")
"""Parts of the texts of Ray's errors where a machine was too slow, or too busy."""
DIED = ("actor died", "actor is dead", "ActorDied", "ActorUnavailable", "process died", "failed to start")
"""Parts of the texts where one of Ray's processes ended."""
TOO_LONG = "AF_UNIX path length"
"""Part of the text where Ray can make no socket in its folder."""
LOG = "--verbose shows Ray's own log"
SEVERAL_MACHINES = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's variable that says, at ``0``, that this Ray will never have a second machine."""


@contextmanager
def one_machine() -> Iterator[None]:
    """Import Ray in the block, for a Ray that this process starts and that has no other machine.

    Its control store, node manager, workers and metrics then listen on 127.0.0.1 alone. Otherwise they listen on all
    interfaces, even with a loopback ``_node_ip_address``, which Ray puts the machine's own address in the place of.
    Where Ray has been imported before, by a program that uses the library, the block changes nothing.

    Source: ``get_node_ip_address`` in Ray's ``_private/services.py``, read at the import of ``_private/ray_constants``.

    Example:
        >>> with one_machine():
        ...     os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"]
        '0'
    """
    before = os.environ.get(SEVERAL_MACHINES)
    os.environ.setdefault(SEVERAL_MACHINES, "0")
    try:
        yield
    finally:
        # A `ray start` that this process may run would refuse a second machine.
        if before is None:
            del os.environ[SEVERAL_MACHINES]


def check_address(address: str, where: str = "--address") -> None:
    """Refuse the address of a cluster that does not answer: Ray would try again for minutes, and then end the process.

    Args:
        address: ``host:port``; any other form, such as ``auto`` or ``local``, is left to Ray.
        where: the option or setting that named it.

    Raises:
        InputError: no process takes a connection there.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or "/" in address:
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        hint = "start the cluster, name the address of one that runs, or leave it out for a private Ray"
        raise InputError(f"no Ray cluster answers at {address} ({why})", where=where, hint=hint) from error


def start_patiently(start: Callable[[], None], undo: Callable[[], object], seconds: float) -> None:
    """Start a part of Ray, and start it again where the machine was too slow, until some seconds have passed.

    Args:
        start: starts it, and raises Ray's error.
        undo: removes what a failed start has left.
        seconds: no further start begins after that time.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return start()
        except Exception as error:
            undo()
            if not is_slow(error) or time.monotonic() >= until:
                raise


def is_slow(error: BaseException) -> bool:
    """Whether an error of Ray means that something took too long."""
    text = f"{type(error).__name__}: {error}"
    return any(part in text for part in SLOW)


@contextmanager
def ray_errors(what: str, folder: Path | str, *, longer: str = "") -> Iterator[None]:
    """Raise an error of Ray in the block again as a sentence.

    Args:
        what: the failure as a clause, such as ``Ray did not start``.
        folder: where Ray keeps its files.
        longer: the setting that gives a slow machine more time; empty: none.

    Raises:
        CociteError: Ray, or what runs on it, did not come up.
    """
    try:
        yield
    except CociteError:
        raise
    except Exception as error:  # Ray raises whatever it likes, down to the bare class
        if not _is_from_ray(error):
            raise  # a defect of cocite keeps its traceback
        line = _one_line(error)
        if (reason := FULL.get(system_error(error) or 0)) is not None:
            hint = "make room there, or set TMPDIR to another folder"
            raise CociteError(f"{what}: {reason}", where=str(folder), hint=hint) from error
        if TOO_LONG in str(error):
            raise InputError(
                f"{what}: the path of its folder is too long for a socket",
                where=str(folder),
                hint="set TMPDIR, or RAY_TMPDIR if it is set, to a shorter folder such as /tmp",
            ) from error
        if is_slow(error):
            hint = "try again when the machine is less busy" + (
                f", or give it longer: {longer}" if longer else ""
            )
            raise CociteError(f"{what} in time: {line}", hint=f"{hint}; {LOG}") from error
        if any(part in str(error) for part in DIED):
            hint = f"is there memory left? {LOG}"
            raise CociteError(f"{what}, for one of its processes ended: {line}", hint=hint) from error
        raise CociteError(f"{what}: {line}", hint=LOG) from error


def _is_from_ray(error: Exception) -> bool:
    """Whether an error was raised in Ray's code."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "").partition(".")[0] == "ray" for frame, _ in frames)


def _one_line(error: Exception) -> str:
    """The first line of an error's text, or of the error that it carries, shortened, without a full stop."""
    cause = getattr(error, "cause", None)  # a task's error carries what its code raised
    lines = str(cause if isinstance(cause, Exception) else error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:300].rstrip(".: ")
