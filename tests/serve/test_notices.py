"""What is told and what is kept of it; a real endpoint's rollouts: tests/integration/test_rollouts.py."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from cocite_serve.notices import LOGGER, Notice, Notices
from cocite_serve.settings import LogSettings

REFUSED = Notice(
    "Index 000002 is not served: damaged.", outcome="refused", release="Index 000002", why="damaged"
)


def kept(folder: Path) -> list[dict[str, Any]]:
    """The lines of the log, without their time."""
    lines = [json.loads(line) for path in folder.glob("*.jsonl") for line in path.open()]
    return [{name: value for name, value in line.items() if name != "time"} for line in lines]


def test_what_is_told_is_kept_with_its_fields(tmp_path: Path) -> None:
    told: list[str] = []
    notices = Notices(told.append, LogSettings(folder=tmp_path))
    notices("a warning")
    notices(REFUSED)
    notices(Notice("Serving x now.", outcome="served", release="x"))
    notices.close()
    assert told == ["a warning", "Index 000002 is not served: damaged.", "Serving x now."]
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["endpoint-0.jsonl"]
    assert kept(tmp_path) == [
        {"level": "WARNING", "message": "a warning"},
        {"level": "WARNING", **REFUSED.fields, "message": str(REFUSED)},
        {"level": "INFO", "outcome": "served", "release": "x", "message": "Serving x now."},
    ]


def test_a_notice_that_goes_to_the_logger_is_kept_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notices = Notices(LOGGER.warning, LogSettings(folder=tmp_path))
    notices.listen()
    notices(REFUSED)
    notices("100 % of it")
    notices.close()
    assert caplog.messages == [str(REFUSED), "100 % of it"]
    assert [line["message"] for line in kept(tmp_path)] == caplog.messages


def test_what_the_process_logs_is_kept_without_the_words_of_errors(tmp_path: Path) -> None:
    notices = Notices(print, LogSettings(folder=tmp_path))
    notices.listen()
    try:
        {}["the words of a draft"]
    except KeyError:
        LOGGER.exception("the release that is served now does not answer")
    notices.close()
    LOGGER.warning("after its end")
    [line] = kept(tmp_path)
    assert (line["level"], line["message"]) == ("ERROR", "the release that is served now does not answer")
    assert "draft" not in json.dumps(line)


def test_without_anything_to_tell_there_is_no_file(tmp_path: Path) -> None:
    notices = Notices(print, LogSettings(folder=tmp_path / "logs"))
    notices.close()
    notices.close()
    assert not (tmp_path / "logs").exists()


def test_a_folder_that_cannot_be_made_leaves_the_operator_with_the_lines(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    told: list[str] = []
    notices = Notices(told.append, LogSettings(folder=tmp_path / "file" / "logs"))
    with caplog.at_level(logging.WARNING, "ray.serve"):
        for _ in range(2):
            notices(REFUSED)
    assert told == [REFUSED, REFUSED]
    assert [message[:25] for message in caplog.messages] == ["endpoint: no log is kept:"]


def test_the_next_endpoint_goes_on_with_the_file(tmp_path: Path) -> None:
    for _ in range(2):
        notices = Notices(lambda _: None, LogSettings(folder=tmp_path))
        notices(REFUSED)
        notices.close()
    assert [path.name for path in tmp_path.glob("*.jsonl")] == ["endpoint-0.jsonl"]
    assert len(kept(tmp_path)) == 2
