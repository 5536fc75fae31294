from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from helpers.records import write_lines

from cocite.corpus.division.resolve_part import EVENTS, ResolvePart
from cocite.corpus.division.runs import text_rows
from cocite.corpus.idtable import IdTable
from cocite.corpus.importers import open_source
from cocite.corpus.staged_parts import stage_part


def test_a_part_is_resolved_and_replaces_what_was_made_before(tmp_path: Path) -> None:
    lines = [
        {"id": "b", "title": "B", "citations": ["a", "?", "late"]},
        {"citing": "b", "cited": ["a"], "context": "c [CIT]", "id": "k"},
        {"citing": "q", "cited": ["a"], "context": "d [CIT]", "id": "l"},
    ]
    source = open_source(write_lines(tmp_path / "x.jsonl", lines))
    (tmp_path / "staged").mkdir()
    stage_part(source, source.parts(1 << 20)[0], tmp_path / "staged" / "00000")
    table = IdTable()
    table.add(["a", "b", "late"])
    survey = tmp_path / "survey"
    survey.mkdir()
    hashes, rows = table.arrays()
    sample = np.sort(IdTable.hashes(["?", "a"]))
    years = np.array([1990, 1990, 2020], np.int16)
    for name, values in {"hashes": hashes, "rows": rows, "years": years, "sample": sample}.items():
        np.save(survey / f"{name}.npy", values)
    place = {"lines": 10, "numbers": 0, "papers": 1, "links": 0}
    (survey / "survey.json").write_text(json.dumps({"places": [place], "codes": None}))
    step = ResolvePart(tmp_path / "staged", ("00000",), survey, tmp_path / "resolved", 1, False, True)
    (tmp_path / "resolved" / "00000").mkdir(parents=True)
    (tmp_path / "resolved" / "00000" / "old").touch()
    result = step.open()(0)
    folder = tmp_path / "resolved" / "00000"
    assert not (folder / "old").exists()
    assert (result["links"], result["counts"]["later_citation"]) == (1, 1)
    assert result["unknown"] == [(0, int(IdTable.hashes(["?"])[0]))]
    assert result["late"] == [(0, (30, 1, 2))]
    assert [run.tolist() for run in text_rows(folder, "contexts")] == [[1]]
    events = [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]
    reason = "its paper is not in the source"
    assert events == [["contexts", "context_of_unknown_paper", reason, "x.jsonl", 13, "l"]]
