from __future__ import annotations

import json
from pathlib import Path

import pytest

from cocite.errors import IntegrityError, NotFoundError
from cocite.retrieval.sizing.figures import measured_indexes


def test_the_shipped_figures_are_of_both_forms_of_index_and_say_where_they_come_from() -> None:
    measured = measured_indexes()
    assert {one.shards > 1 for one in measured} == {True, False}
    assert [(one.papers, one.shards) for one in measured] == sorted(
        (one.papers, one.shards) for one in measured
    )
    for one in measured:
        assert one.command == f"python -m benchmarks.scale --papers {one.papers} --shards {one.shards}"
        assert one.opened > one.before > 0
        assert set(one.cpu_ms) == {"local", "global"}
        assert one.text_bytes < sum(one.bytes.values())


def test_they_come_back_as_they_were_written(tmp_path: Path) -> None:
    measured = measured_indexes()
    (tmp_path / "figures.json").write_text(json.dumps({"indexes": [one.to_json() for one in measured]}))
    assert measured_indexes(tmp_path / "figures.json") == measured


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "figures.json").write_text("{")
    with pytest.raises(IntegrityError, match=r"figures\.json: not valid JSON"):
        measured_indexes(tmp_path / "figures.json")
    with pytest.raises(NotFoundError, match="no such file"):
        measured_indexes(tmp_path / "missing.json")
