from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers.records import write_lines
from helpers.staged import run_here

from cocite.corpus.division.survey import LONGEST_NUMBER, can_be_divided, split_codes, survey_parts
from cocite.corpus.importers import open_source
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.staged_parts import STAGED, StagedParts, stage_part
from cocite.part_files import LocalFiles

LINES = [
    {"id": "a", "title": "A", "year": 1990, "citations": ["b", "c"]},
    {"id": "a", "title": "A", "citations": ["b"]},
    {"id": "b", "title": "B", "year": 2001, "citations": ["a"]},
]


def staged(tmp_path: Path) -> StagedParts:
    source = open_source(write_lines(tmp_path / "x.jsonl", LINES))
    parts = source.parts(1)
    names = [f"{number}" for number in range(len(parts))]
    (tmp_path / STAGED).mkdir()
    made = [
        stage_part(source, part, tmp_path / STAGED / name) for part, name in zip(parts, names, strict=True)
    ]
    files = LocalFiles(tmp_path)
    return StagedParts(source.path, files, names, parts, made, run=partial(run_here, files))


def test_parts_have_their_places_and_repeated_ids_are_marked(tmp_path: Path) -> None:
    log = RuleLog()
    found = survey_parts(staged(tmp_path), "kept", log)
    assert [(place.lines, place.papers, place.links) for place in found.places] == [
        (0, 0, 0),
        (1, 1, 2),
        (2, 1, 2),
    ]
    assert (found.links, len(found.table), list(found.years)) == (3, 2, [1990, 2001])
    assert np.load(tmp_path / "kept" / "00001" / "papers.npy").tolist() == [False]
    assert log.samples["duplicate_id"][0]["line"] == 2
    assert len(found.sample.keys()) == 3


@pytest.mark.parametrize(
    ("numbers", "named", "longest", "divided"),
    [(0, 7, 0, True), (7, 0, 30, True), (7, 1, 30, False), (7, 0, 40 - LONGEST_NUMBER + 1, False)],
)
def test_ids_of_numbers_and_others_are_not_divided(
    tmp_path: Path, numbers: int, named: int, longest: int, divided: bool
) -> None:
    parts = staged(tmp_path)
    made = [replace(part, numbers=numbers, longest=longest) for part in parts.staged]
    parts = replace(parts, staged=[*made[:-1], replace(made[-1], numbers=0, named=named)])
    assert can_be_divided(parts, 40 if longest != 30 else 512) is divided
    assert not can_be_divided(replace(parts, run=None), 512)


def test_codes_of_splits() -> None:
    codes = split_codes(
        np.array([1990, 2001, 1990], np.int16), lambda year: "train" if year < 2000 else "dev"
    )
    assert codes == {"1990": 1, "2001": 2}
