"""A log that outlives its replica; that replicas keep one is seen in tests/integration/endpoint/test_traces.py."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import cocite
from cocite_serve.replicas.kept_lines import VARIABLE, ToFile, environment, keep_lines
from cocite_serve.settings import LogSettings


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger that nobody else writes to."""
    named = logging.getLogger("kept lines")
    named.setLevel(logging.DEBUG)
    yield named
    named.handlers.clear()


def test_lines_go_to_the_folder_that_the_environment_names(
    logger: logging.Logger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, environment(LogSettings(folder=tmp_path))[VARIABLE])
    for _ in range(2):
        keep_lines(logger, "replica-shard")
    known = {"deployment": "Shard-1-of-2", "replica": "x1", "request_id": "5f0c", "took": 3}
    logger.warning("shard %d is gone", 2, extra=known)
    logger.debug("too small to keep")
    logger.info("POST /v1/recommend 200: a line of Ray Serve, for it is not from cocite's code")
    [path] = tmp_path.glob("*.jsonl")
    assert path.name == "replica-shard-0.jsonl"
    [line] = map(json.loads, path.read_text().splitlines())
    assert line.pop("time")
    assert line == {
        "level": "WARNING",
        "deployment": "Shard-1-of-2",
        "replica": "x1",
        "request_id": "5f0c",
        "message": "shard 2 is gone",
    }


def test_of_an_error_its_class_and_places_are_kept_and_no_words(logger: logging.Logger) -> None:
    lines: list[dict[str, object]] = []
    logger.addHandler(ToFile(lines.append))
    try:
        {}["the words of a draft"]
    except KeyError:
        logger.exception("a request failed")
    [line] = lines
    assert line["message"] == "a request failed"
    assert "KeyError" in str(line["error"])
    assert "draft" not in str(line["error"])


def test_a_line_of_cocites_own_code_is_kept_at_any_level_from_info(logger: logging.Logger) -> None:
    lines: list[dict[str, object]] = []
    for level in (logging.DEBUG, logging.INFO):
        record = logging.LogRecord("cocite.pipeline", level, cocite.__file__, 1, "loaded", (), None)
        logger.addHandler(ToFile(lines.append))
        logger.handle(record)
        logger.handlers.clear()
    assert lines == [{"level": "INFO", "message": "loaded"}]


def test_without_the_variable_nothing_is_kept(
    logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    keep_lines(logger, "replica-shard")
    assert logger.handlers == []


def test_a_folder_that_cannot_be_made_leaves_the_replica_without(
    logger: logging.Logger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, environment(LogSettings(folder=tmp_path / "file" / "logs"))[VARIABLE])
    keep_lines(logger, "replica-shard")
    assert logger.handlers == []
