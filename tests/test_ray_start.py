"""What Ray raises while it comes up, in sentences; without a Ray."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cocite.errors import CociteError, InputError
from cocite.ray_start import SEVERAL_MACHINES, check_address, one_machine, ray_errors, start_patiently

SLOW = "The current node timed out during startup. This could happen because some of the raylet failed to startup."


def raise_in_ray(error: Exception) -> None:
    """Raise from code of a module of Ray."""
    exec("def fail(error):\n raise error", namespace := {"__name__": "ray._private.node"})
    namespace["fail"](error)  # type: ignore[operator]


class RayTaskError(RuntimeError):
    """As Ray's own: its text is a traceback, and it carries what was raised elsewhere."""

    cause = RuntimeError("Failed to bind to 127.0.0.1:8000.\nmore")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            Exception(SLOW),
            r"^Ray did not start in time: The current node timed out .* \(try again .* start_s=9; --v",
        ),
        (
            TimeoutError("HTTP proxies not available after 60s."),
            r"in time: HTTP proxies not available after 60s \(try",
        ),
        (
            RuntimeError("The actor died unexpectedly before finishing this task.\n\tclass_name: X"),
            r"did not start, for one of its processes ended: The actor died .* this task \(is there memory left\?",
        ),
        (
            RayTaskError("ray::X.ready()\nTraceback"),
            r"did not start: Failed to bind to 127.0.0.1:8000 \(--verbose",
        ),
        (
            OSError("AF_UNIX path length cannot exceed 107 bytes: /a/b"),
            r"^/the/folder: .* too long for a socket \(set",
        ),
        (
            OSError(errno.ENOSPC, "x"),
            r"^/the/folder: Ray did not start: no space left on the device \(make room",
        ),
        (ValueError(), r"^Ray did not start: ValueError \(--verbose shows Ray's own log\)$"),
    ],
)
def test_what_ray_raises_is_a_sentence(error: Exception, sentence: str) -> None:
    with (
        pytest.raises(CociteError, match=sentence) as told,
        ray_errors("Ray did not start", Path("/the/folder"), longer="--set start_s=9"),
    ):
        raise_in_ray(error)
    assert "\n" not in str(told.value)


def test_our_own_defects_and_sentences_are_let_through() -> None:
    with pytest.raises(ZeroDivisionError, match="by zero"), ray_errors("Ray did not start", "/x"):
        _ = 1 / 0
    with pytest.raises(InputError, match="^said$"), ray_errors("Ray did not start", "/x"):
        raise_in_ray(InputError("said"))


def test_what_came_up_too_slowly_is_started_again_and_nothing_else_is() -> None:
    events: list[str] = []

    def start(*errors: Exception) -> None:
        left = list(errors)

        def once() -> None:
            events.append("start")
            if left:
                raise left.pop(0)

        start_patiently(once, lambda: events.append("undo"), 60)

    start(Exception(SLOW), TimeoutError("Proxies not available after 60s."))
    assert events == ["start", "undo", "start", "undo", "start"]
    events.clear()
    with pytest.raises(ValueError, match="wrong"):
        start(ValueError("wrong"))
    assert events == ["start", "undo"]
    with pytest.raises(Exception, match="timed out"):
        start_patiently(lambda: raise_in_ray(Exception(SLOW)), int, 0)


def test_a_cluster_that_is_gone_is_reported_at_once() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(
            InputError,
            match=rf"^RAY_ADDRESS: no Ray cluster answers at {address} \(Connection refused\) \(start the",
        ):
            check_address(address, "RAY_ADDRESS")
        assert time.monotonic() - began < 60
        probe.listen()
        check_address(address)
    with pytest.raises(InputError, match=r"no Ray cluster answers at no-such-host\.invalid:6379"):
        check_address("no-such-host.invalid:6379")
    for other in ("auto", "local", "ray://head:10001", "/dev/null"):
        check_address(other)


ADDRESS = """
from cocite.ray_start import one_machine
with one_machine():
    import ray
print(ray.util.get_node_ip_address())
"""


def test_a_ray_that_has_no_other_machine_takes_the_loopback_address() -> None:
    done = subprocess.run([sys.executable, "-c", ADDRESS], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "127.0.0.1"


@pytest.mark.parametrize("before", [None, "1"])
def test_what_says_so_is_gone_after_the_import_and_what_was_set_before_stays(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SEVERAL_MACHINES, raising=False)
    if before is not None:
        monkeypatch.setenv(SEVERAL_MACHINES, before)
    with one_machine():
        assert os.environ[SEVERAL_MACHINES] == (before or "0")
    assert os.environ.get(SEVERAL_MACHINES) == before
