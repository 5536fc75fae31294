from __future__ import annotations

from pathlib import Path

from helpers.records import (
    papers_of,
    write_lines,
)

from cocite.corpus.importers import detect
from cocite.corpus.records import PaperRecord


def test_citeomatic_lines(tmp_path: Path) -> None:
    own = {
        "id": "1",
        "title": "T",
        "abstract": "A",
        "authors": ["X"],
        "venue": "V",
        "year": 2017,
        "out_citations": ["2"],
        "key_phrases": ["k"],
        "in_citations": [],
    }
    older = {
        "id": "2",
        "title": "U",
        "paperAbstract": "B",
        "authors": [{"name": "Y", "ids": []}],
        "outCitations": [],
        "keyPhrases": ["m"],
        "year": None,
    }
    path = write_lines(tmp_path / "corpus.json", [own, older])
    assert detect(path) == "citeomatic"
    assert papers_of(path) == [
        PaperRecord("1", "T", "A", 2017, "V", ("X",), ("k",), citations=("2",)),
        PaperRecord("2", "U", "B", authors=("Y",), keyphrases=("m",)),
    ]
