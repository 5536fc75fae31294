from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from cocite_jobs.interruptible import become_interruptible


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_ignored_interrupt_is_heard_again() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.raise_signal(signal.SIGINT)
    become_interruptible()
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        signal.raise_signal(signal.SIGINT)


def test_a_handler_of_somebody_stays() -> None:
    heard: list[int] = []

    def handler(number: int, _: object) -> None:
        heard.append(number)

    signal.signal(signal.SIGINT, handler)
    become_interruptible()
    signal.raise_signal(signal.SIGINT)
    assert heard == [signal.SIGINT]


def test_another_thread_changes_nothing() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    thread = threading.Thread(target=become_interruptible)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
