"""A Ctrl-C is held back, and not lost."""

import signal
import threading
from collections.abc import Iterator

import pytest

from cocite_jobs.deferred_interrupt import deferred_interrupt
from cocite_jobs.svg_figures import new_figure, styled, to_svg


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """A Ctrl-C raises KeyboardInterrupt, whatever was left by a test before, or by who started the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_comes_at_the_end_of_the_block() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt, match="^$"), deferred_interrupt():
        signal.raise_signal(signal.SIGINT)
        done.append("the rest")
    assert done == ["the rest"]


def test_an_error_of_the_block_gives_way_to_the_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt, match="^$") as caught, deferred_interrupt():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("because of it")
    assert isinstance(caught.value.__context__, ValueError)


def test_without_an_interrupt_nothing_happens_and_the_handler_is_back() -> None:
    handler = signal.getsignal(signal.SIGINT)
    with deferred_interrupt():
        assert signal.getsignal(signal.SIGINT) is not handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_ignored_signal_stays_ignored() -> None:
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupt():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, handler)


def test_another_thread_leaves_the_handler_alone() -> None:
    seen = []

    def work() -> None:
        with deferred_interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]


def test_a_figure_is_drawn_whole_before_an_interrupt_ends_the_command() -> None:
    figures = []

    @styled
    def draw() -> None:
        drawing, axes = new_figure(2, 2)
        axes.plot([1, 2], [1, 3])
        signal.raise_signal(signal.SIGINT)
        figures.append(to_svg(drawing, "a line"))

    with pytest.raises(KeyboardInterrupt, match="^$"):
        draw()
    assert figures[0].startswith("<svg")
