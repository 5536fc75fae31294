"""The connection to the Ray that a training runs on: a private Ray on this machine, or a cluster that is running."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from cocite.errors import BusyError, InputError
from cocite.locks import locked
from cocite.ray_start import check_address, one_machine, ray_errors, start_patiently

LOCAL = "local"
"""Ray's address for a private Ray on this machine."""
SCRATCH = "cocite-ray-"
"""Beginning of the names of scratch folders."""
START_S = 90.0
"""Seconds for which a Ray that a busy machine did not bring up in time is started again."""
UNLOCKED_S = 60
"""Seconds for which another process may take to lock its new scratch folder; an older unlocked one is removed."""
STORE_BYTES = 128 * 2**20
"""Size of a private Ray's shared memory, through which nothing but metrics passes."""
_private = False
"""Whether this process is connected to a private Ray that it started."""


@contextmanager
def ray_connection(address: str | None = None, *, verbose: bool = False) -> Iterator[Path]:
    """Connect to Ray while the block runs.

    Where this process is connected already, as a sweep's trials are, that connection is used and stays.

    Args:
        address: of a cluster that this machine belongs to; ``None``: what ``RAY_ADDRESS`` names (a job finds its
            cluster there), else a private Ray that ends with the block.
        verbose: let Ray and its workers write to this terminal.

    Yields:
        A scratch folder of this process.

    Raises:
        InputError: a cluster at such an address takes jobs only, or no cluster answers there.
        CociteError: Ray did not start.

    Example:
        >>> try:
        ...     with ray_connection("http://head:8265"):
        ...         pass
        ... except InputError as error:
        ...     print(error)
        --address: 'http://head:8265' is reached by jobs only (use cocite job submit)
    """
    global _private
    where = "--address" if address else "RAY_ADDRESS"
    address = address or os.environ.get("RAY_ADDRESS") or LOCAL
    if address.startswith(("ray://", "http://", "https://")):
        raise InputError(f"{address!r} is reached by jobs only", where=where, hint="use cocite job submit")
    check_address(address, where)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with one_machine() if address == LOCAL else nullcontext():
        import ray

    with scratch_folder() as folder, _messages_on_stderr():
        if ray.is_initialized():  # by the caller, who will end it
            yield folder
            return
        options: dict[str, Any] = {"log_to_driver": verbose, "logging_level": "info" if verbose else "error"}
        if address == LOCAL:
            options |= {"include_dashboard": False, "object_store_memory": STORE_BYTES}
            if "RAY_TMPDIR" not in os.environ:
                options["_temp_dir"] = str(folder)
        try:
            failed = "Ray did not start" if address == LOCAL else f"no Ray at {address}"
            with ray_errors(failed, folder), _own_sigterm():
                start_patiently(lambda: ray.init(address, **options), ray.shutdown, START_S)
            _private = address == LOCAL
            yield folder
        finally:
            _private = False
            ray.shutdown()


def never_grows() -> bool:
    """Whether the Ray that this process is connected to is its private one, which has this machine alone.

    Example:
        >>> never_grows()
        False
        >>> with ray_connection("local"):
        ...     never_grows()
        True
    """
    return _private


def joins_cluster(address: str | None = None) -> bool:
    """Whether :func:`ray_connection` connects to a Ray that runs already, which may have other machines than this one.

    Args:
        address: as of :func:`ray_connection`.

    Example:
        >>> joins_cluster("10.0.0.1:6379"), joins_cluster("local")
        (True, False)
    """
    ray = sys.modules.get("ray")  # what has not imported it is not connected
    if ray is not None and ray.is_initialized():
        return not _private
    return (address or os.environ.get("RAY_ADDRESS") or LOCAL) != LOCAL


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keep this process' handler of SIGTERM: Ray's own prints a trace and ends the process, whatever it has to end."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _messages_on_stderr() -> Iterator[None]:
    """Have Ray print on standard error while the block runs: on standard output is the answer of a command.

    Whatever ``log_to_driver`` says, Ray's driver prints there that a node was lost or a worker killed.
    """
    from ray._private import worker

    plain = getattr(worker, "print_to_stdstream", None)
    if plain is None:  # another version of Ray
        yield
        return

    def print_on_stderr(data: dict[str, Any], ignore_prefix: bool) -> None:
        plain({**data, "is_err": True}, ignore_prefix)

    worker.print_to_stdstream = print_on_stderr
    try:
        yield
    finally:
        worker.print_to_stdstream = plain


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a temporary folder that is removed with the block.

    A process that is killed leaves its folder, whose lock ends with the process. So the next process that makes a
    folder removes those that no process has locked.

    Example:
        >>> with scratch_folder() as folder:
        ...     folder.name.startswith(SCRATCH)
        True
        >>> folder.exists()
        False
    """
    for earlier in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with suppress(BusyError, OSError):
            if time.time() - earlier.stat().st_mtime > UNLOCKED_S:
                with locked(earlier / ".lock"):
                    shutil.rmtree(earlier, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=SCRATCH))
    try:
        with locked(folder / ".lock"):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
