from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cocite.phases import observed, phase


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.lines.append(f"{name} begins")
        try:
            yield
        finally:
            self.lines.append(f"{name} ends")


def test_an_observer_is_told_of_phases_within_its_block_alone() -> None:
    log = Log()
    with phase("before"):
        pass
    with observed(log), phase("generate"), phase("encode"):
        pass
    with phase("after"):
        pass
    assert log.lines == ["generate begins", "encode begins", "encode ends", "generate ends"]


def test_an_error_ends_a_phase_and_goes_on() -> None:
    log = Log()
    with pytest.raises(ValueError, match="a defect"), observed(log), phase("score"):
        raise ValueError("a defect")
    assert log.lines == ["score begins", "score ends"]
    with phase("after"):
        pass
    assert len(log.lines) == 2


def test_another_thread_has_an_observer_of_its_own() -> None:
    log = Log()

    def compute() -> None:
        with phase("encode"):
            pass

    with observed(log):
        thread = threading.Thread(target=compute)
        thread.start()
        thread.join()
    assert log.lines == []
