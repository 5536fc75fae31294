from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from helpers.records import write_lines

from cocite.corpus.division.resolve_part import DEGREES, EVENTS, ResolvePart
from cocite.corpus.division.runs import KINDS, read_index
from cocite.corpus.idtable import IdTable
from cocite.corpus.importers import open_source
from cocite.corpus.staged_parts import stage_part
from cocite.part_files import LocalFiles


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
    survey = tmp_path / "divided" / "survey"
    survey.mkdir(parents=True)
    hashes, rows = table.arrays()
    sample = np.sort(IdTable.hashes(["?", "a"]))
    years = np.array([1990, 1990, 2020], np.int16)
    for name, values in {"hashes": hashes, "rows": rows, "years": years, "sample": sample}.items():
        np.save(survey / f"{name}.npy", values)
    place = {"lines": 10, "numbers": 0, "papers": 1, "links": 0}
    (survey / "survey.json").write_text(json.dumps({"places": [place], "codes": None}))
    step = ResolvePart("divided", ("00000",), 1, False, True)
    assert tmp_path / step.shared == survey
    folder = tmp_path / "divided" / "resolved" / "00000"
    folder.mkdir(parents=True)
    (folder / "old").touch()
    result = step.open(survey)(LocalFiles(tmp_path), 0)
    assert not (folder / "old").exists()
    assert (result["links"], result["counts"]["later_citation"]) == (1, 1)
    assert result["unknown"] == [(0, int(IdTable.hashes(["?"])[0]))]
    assert result["late"] == [(0, (30, 1, 2))]
    assert np.load(folder / DEGREES).tolist() == [[KINDS.index("contexts")], [1], [1]]
    assert [(KINDS[entry["kind"]], int(entry["first"]) >> 32) for entry in read_index(folder)][:2] == [
        ("cites", 1),
        ("cited_by", 0),
    ]
    events = [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]
    reason = "its paper is not in the source"
    assert events == [["contexts", "context_of_unknown_paper", reason, "x.jsonl", 13, "l"]]
