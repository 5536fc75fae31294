"""The records have the fields, and the order of fields, of the published versions of the citation network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.records import papers_of, write_lines

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.importers.json_values import CHUNK
from cocite.corpus.records import Malformed, PaperRecord
from cocite.errors import InputError

V10 = {
    "abstract": "In this paper, a robust 3D triangular mesh watermarking algorithm is proposed.",
    "authors": ["S. Ben Jabra", "Ezzeddine Zagrouba"],
    "n_citation": 50,
    "references": ["09cb2d7d-47d1-4a85-bfe5-faa8221e644b", "10aa16da-378b-4b11-8c84-8a5c5ba8bc1d"],
    "title": "A new approach of 3D watermarking based on image segmentation",
    "venue": "international symposium on computers and communications",
    "year": 2008,
    "id": "4ab3735c-80f1-472d-b953-fa0557fed28b",
}
V11 = {
    "id": "1388",
    "title": "Further Results on Independence in Direct-Product Graphs.",
    "authors": [
        {"name": "Pranava K. Jha", "id": "2718958994", "org": "Syracuse University"},
        {"id": "1", "org": "Unnamed"},
    ],
    "venue": {"raw": "Ars Combinatoria", "id": "73158690"},
    "year": 2000,
    "n_citation": 1,
    "page_start": "",
    "page_end": "",
    "doc_type": "Journal",
    "publisher": "",
    "volume": "56",
    "issue": "",
    "fos": [{"name": "Graph", "w": 0.0}, {"name": "Discrete mathematics", "w": 0.45872}],
    "doi": "10.1000/182",
    "references": ["2051834357"],
    "indexed_abstract": {"IndexLength": 4, "InvertedIndex": {"graphs": [1, 3], "For": [0], "and": [2]}},
}
V12 = V11 | {
    "id": 1388,
    "authors": [{"name": "Pranava K. Jha", "id": 2718958994}],
    "references": [2051834357],
}
V14 = {
    "_id": "53e99784b7602d9701f3e3f5",
    "title": "3GIO.",
    "authors": [{"_id": "53f4369edabfaee02ac96f9d", "name": "Jim Pappas"}],
    "venue": {"_id": "53a7297d20f7420be8bd4ae7", "name_d": "International Conference", "type": 0},
    "year": 2011,
    "n_citation": 0,
    "keywords": ["peripheral interconnect"],
    "fos": ["Computer science"],
    "references": ["53e99784b7602d9701f3e3f4"],
    "abstract": "A bus.",
    "lang": "en",
}


def test_version_10(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "dblp-ref-0.json", [V10])
    assert detect(path) == "aminer"
    assert papers_of(path) == [
        PaperRecord(
            "4ab3735c-80f1-472d-b953-fa0557fed28b",
            "A new approach of 3D watermarking based on image segmentation",
            "In this paper, a robust 3D triangular mesh watermarking algorithm is proposed.",
            2008,
            "international symposium on computers and communications",
            ("S. Ben Jabra", "Ezzeddine Zagrouba"),
            citations=("09cb2d7d-47d1-4a85-bfe5-faa8221e644b", "10aa16da-378b-4b11-8c84-8a5c5ba8bc1d"),
        )
    ]


@pytest.mark.parametrize("index", ["object", "text"])
def test_version_11(tmp_path: Path, index: str) -> None:
    """The Open Academic Graph, of which version 11 is a part, has the index as text."""
    value = dict(V11)
    if index == "text":
        value["indexed_abstract"] = json.dumps(V11["indexed_abstract"])
    path = write_lines(tmp_path / "dblp_papers_v11.txt", [value])
    assert detect(path) == "aminer"
    corpus = build(open_source(path), tmp_path / "store")
    paper = corpus.paper(0)
    assert (paper.id, paper.abstract, paper.venue, paper.year) == (
        "1388",
        "For graphs and graphs",
        "Ars Combinatoria",
        2000,
    )
    assert (paper.authors, paper.keyphrases) == (("Pranava K. Jha",), ("Graph", "Discrete mathematics"))
    assert paper.doi == "10.1000/182"


def as_version_12(values: list[dict[str, Any]]) -> str:
    """An array whose lines begin with the comma, as the published file has it."""
    return "[\n" + "\n,".join(json.dumps(value) for value in values) + "\n]"


def test_version_12(tmp_path: Path) -> None:
    path = tmp_path / "dblp.v12.json"
    path.write_text(as_version_12([V12, V12 | {"id": 2051834357, "title": "Cited", "references": None}]))
    assert detect(path) == "aminer"
    first, second = papers_of(path)
    assert (first.id, first.citations, first.authors) == ("1388", ("2051834357",), ("Pranava K. Jha",))
    assert (second.id, second.citations) == ("2051834357", ())
    corpus = build(open_source(path), tmp_path / "store")
    assert len(corpus.cites.indices) == 1


def test_version_14(tmp_path: Path) -> None:
    path = tmp_path / "dblpv14.json"
    path.write_text(json.dumps([V14], indent=2))
    (paper,) = papers_of(path)
    assert (paper.id, paper.abstract, paper.venue) == (
        "53e99784b7602d9701f3e3f5",
        "A bus.",
        "International Conference",
    )
    assert (paper.keyphrases, paper.authors) == (("peripheral interconnect",), ("Jim Pappas",))
    assert paper.citations == ("53e99784b7602d9701f3e3f4",)


@pytest.mark.parametrize("format", [None, "aminer"])
def test_version_13_is_named_with_what_mends_it(tmp_path: Path, format: str | None) -> None:
    path = tmp_path / "dblpv13.json"
    text = json.dumps([V14], indent=2).replace('"year": 2011', '"year" : NumberInt(2011)')
    path.write_text(text + " " * 3 * CHUNK)
    with pytest.raises(InputError, match=r"dblpv13\.json:2: not JSON but what MongoDB's shell .*sed -E"):
        list(open_source(path, format))


def test_bad_lines_are_rejected_and_the_others_kept(tmp_path: Path) -> None:
    lines = [
        V10,
        V10 | {"id": "b", "references": "a, b"},
        V11 | {"indexed_abstract": {"InvertedIndex": {"word": 1}}},
        V11 | {"indexed_abstract": "{"},
        V11 | {"indexed_abstract": "3"},
        V11 | {"venue": {"raw": ["x"]}},
    ]
    path = write_lines(tmp_path / "x.json", lines)
    path.write_text(path.read_text() + '{"id": "c", "title"\n')
    found = [record for record in open_source(path) if isinstance(record, Malformed)]
    assert [record.reason.split(":")[0] for record in found] == [
        "references must be a list, not 'a, b'",
        "indexed_abstract must be lists of positions, not 1",
        "indexed_abstract must be a JSON object, not '{'",
        "indexed_abstract must be an object, not 3",
        "raw must be text, not a list",
        "not valid JSON",
    ]
    assert len(papers_of(path)) == 1
