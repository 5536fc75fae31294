"""What a long command says where there is no terminal."""

from __future__ import annotations

import threading
import time

import pytest

from cocite.cli import console, progress_log
from cocite.cli.progress_log import ProgressLog, duration
from cocite.progress_bars import StagedBars


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def lines_of(total: float | None, *steps: tuple[float, float]) -> list[str]:
    """The lines of a stage that goes so many steps until so many seconds have passed, and then ends."""
    clock, written = Clock(), []
    lines = ProgressLog("indexing", total, written.append, clock)
    for count, seconds in steps:
        lines.advance(count)
        clock.now = 100.0 + seconds
        lines.write_if_due()
    lines.write_end()
    return written


def test_a_line_every_half_minute_and_one_at_the_end() -> None:
    every_second = [(200, second) for second in range(1, 101)]
    assert lines_of(20_299, *every_second) == [
        "indexing: 6,000 of 20,299 (30 %), 30 s, about 1 min 11 s to go",
        "indexing: 12,000 of 20,299 (59 %), 1 min, about 41 s to go",
        "indexing: 18,000 of 20,299 (89 %), 1 min 30 s, about 11 s to go",
        "indexing: done in 1 min 40 s",
    ]


def test_the_time_to_go_follows_the_pace_of_the_last_ten_lines() -> None:
    quick_then_slow = [(9_000, 30), *((10, 30 + 30 * line) for line in range(1, 13)), (0, 420)]
    lines = lines_of(10_000, *quick_then_slow)
    assert lines[0] == "indexing: 9,000 of 10,000 (90 %), 30 s, about 3 s to go"
    assert lines[1] == "indexing: 9,010 of 10,000 (90 %), 1 min, about 7 s to go"
    assert lines[12] == "indexing: 9,120 of 10,000 (91 %), 6 min 30 s, about 44 min to go"
    assert lines[13] == "indexing: 9,120 of 10,000 (91 %), 7 min, about 44 min to go"


def test_bursts_do_not_shake_the_time_to_go() -> None:
    bursts = [(count, 30 * line) for line, count in enumerate((1_000, 10, 990, 5, 995, 10, 990), start=1)]
    left = [line.rpartition("about ")[2] for line in lines_of(10_000, *bursts)[2:7]]
    assert left == [
        "6 min to go",
        "7 min 59 s to go",
        "5 min 50 s to go",
        "6 min 58 s to go",
        "5 min 15 s to go",
    ]


def test_a_block_that_takes_several_lines_gives_the_pace_of_its_whole_time() -> None:
    block_of_five_lines = [(0, 30), (0, 60), (0, 90), (0, 120), (250, 150), (0, 180)]
    assert lines_of(1_000, *block_of_five_lines)[4:6] == [
        "indexing: 250 of 1,000 (25 %), 2 min 30 s, about 7 min 30 s to go",
        "indexing: 250 of 1,000 (25 %), 3 min, about 7 min 30 s to go",
    ]


def test_a_short_stage_prints_nothing() -> None:
    assert lines_of(10, (5, 10), (5, 29)) == []


def test_where_the_length_is_not_known_or_nothing_advances_the_time_is_printed() -> None:
    assert lines_of(None, (0, 31), (4_000, 62), (0, 80)) == [
        "indexing: 31 s", "indexing: 4,000, 1 min 2 s", "indexing: done in 1 min 20 s",
    ]  # fmt: skip
    assert lines_of(10, (20, 40)) == [
        "indexing: 20 of 10 (100 %), 40 s, about 0 s to go",
        "indexing: done in 40 s",
    ]


def test_durations() -> None:
    assert [duration(s) for s in (0.4, 59.4, 60, 70, 3600, 3900, 90_000)] == [
        "0 s", "59 s", "1 min", "1 min 10 s", "1 h", "1 h 5 min", "25 h",
    ]  # fmt: skip


def test_progress_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(progress_log, "EVERY_S", 1.0)
    monkeypatch.setattr(ProgressLog.__init__, "__defaults__", (clock,))
    advanced, write_if_due = threading.Event(), ProgressLog.write_if_due

    def look(log: ProgressLog) -> None:
        """A look that comes amid the steps below would see one of them and not the next."""
        if log.name == "training" and advanced.is_set():
            write_if_due(log)

    monkeypatch.setattr(ProgressLog, "write_if_due", look)
    written, deadline = "", time.monotonic() + 60
    with StagedBars(console.progress_bar) as bar:
        bar.stage("reading", 0)
        clock.now += 1
        bar.stage("training", 4)
        bar.advance(2)
        clock.now += 1
        advanced.set()
        while "training" not in written and time.monotonic() < deadline:  # a thread looks once a second
            time.sleep(0.01)
            said = capsys.readouterr()
            assert said.out == ""
            written += said.err
    written += capsys.readouterr().err
    assert written.splitlines() == [
        "reading: done in 1 s",
        "training: 2 of 4 (50 %), 1 s, about 1 s to go",
        "training: done in 1 s",
    ]


def test_no_end_is_printed_for_a_stage_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_log, "EVERY_S", 0.0)
    with pytest.raises(ValueError, match="broken"), StagedBars(console.progress_bar) as bar:
        bar.stage("training", 4)
        raise ValueError("broken")
    with pytest.raises(ValueError, match="broken"), console.progress_bar("reading"):
        raise ValueError("broken")
    assert capsys.readouterr().err == ""
