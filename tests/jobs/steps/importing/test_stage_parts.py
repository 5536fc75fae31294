from __future__ import annotations

from pathlib import Path

from helpers.records import write_lines

from cocite.corpus.importers import open_source
from cocite.corpus.rules import Limits
from cocite_jobs.steps.importing.stage_parts import StageParts, part_of


def test_a_part_is_made_again_in_place_of_what_is_there(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [{"id": n, "title": "T"} for n in range(9)])
    parts = [part_of(*numbered) for numbered in enumerate(open_source(path).parts(100))]
    assert [part.name for part in parts] == ["00000", "00001"]
    assert sum(part.size for part in parts) == path.stat().st_size
    work = StageParts(path, "jsonl", tmp_path / "staged", Limits())
    work.folder.mkdir()
    make = work.open()
    results = [make(part) for part in parts]
    assert [result["lines"] for result in results] == [5, 4]
    before = sorted(file.read_bytes() for file in (work.folder / "00001").iterdir())
    assert make(parts[1]) == results[1]
    assert sorted(file.read_bytes() for file in (work.folder / "00001").iterdir()) == before
    assert sorted(path.name for path in work.folder.iterdir()) == ["00000", "00001"]
