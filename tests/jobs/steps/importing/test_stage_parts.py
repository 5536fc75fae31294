from __future__ import annotations

from pathlib import Path

import pytest
from helpers.records import write_lines

from cocite.corpus.importers import open_source
from cocite.corpus.rules import Limits
from cocite_jobs.steps.importing.stage_parts import StageParts, part_of
from cocite_jobs.storage.location import Location


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_part_is_made_again_in_place_of_what_is_there(elsewhere: bool, remote: str, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [{"id": n, "title": "T"} for n in range(9)])
    parts = [part_of(*numbered) for numbered in enumerate(open_source(path).parts(100))]
    assert [part.name for part in parts] == ["00000", "00001"]
    assert sum(part.size for part in parts) == path.stat().st_size
    source = remote if elsewhere else str(tmp_path)
    Location.of(source).upload(tmp_path, [path.name]) if elsewhere else None
    folder = Location.of(source) / "staged"
    make = StageParts(f"{source}/{path.name}", "jsonl", folder, Limits()).open()
    results = [make(part) for part in parts]
    assert [result["lines"] for result in results] == [5, 4]

    def content() -> dict[str, bytes | None]:
        return {name: folder.read(name) for name in sorted(folder.files_below())}

    before = content()
    assert make(parts[1]) == results[1]
    assert content() == before
    assert folder.names() == ["00000", "00001"]
