from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.records import hits, write_lines
from helpers.staged import records_in_parts
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.arxiv import preprint_of
from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.importers.arxiv_metadata import ArXiv
from cocite.corpus.records import Malformed, PaperRecord

PREPRINT: dict[str, Any] = {
    "id": "0704.0001",
    "submitter": "Pavel Nadolsky",
    "authors": "C. Bal\\'azs, P. M. Nadolsky Jr",
    "title": "Calculation of prompt diphoton production cross sections at Tevatron and\n  LHC energies",
    "comments": "37 pages",
    "journal-ref": "Phys.Rev.D76:013009,2007",
    "doi": "10.1103/PhysRevD.76.013009",
    "report-no": None,
    "categories": "hep-ph cs.CL",
    "license": None,
    "abstract": "  A fully differential calculation of $\\alpha_s$ by Poincar\\'e,\n50% of it.\n",
    "versions": [
        {"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"},
        {"version": "v2", "created": "Tue, 24 Jul 2008 20:10:27 GMT"},
    ],
    "update_date": "2009-11-26",
    "authors_parsed": [["Balázs", "C.", ""], ["Nadolsky", "P. M.", "Jr", "Argonne"]],
}


def read(path: Path, *values: dict[str, Any]) -> list[Any]:
    write_lines(path, values)
    assert detect(path) == "arxiv"
    return list(open_source(path))


def test_a_preprint_of_the_snapshot(tmp_path: Path) -> None:
    [paper] = read(tmp_path / "x.json", PREPRINT)
    assert paper == PaperRecord(
        "0704.0001",
        "Calculation of prompt diphoton production cross sections at Tevatron and LHC energies",
        "A fully differential calculation of $\\alpha_s$ by Poincaré, 50% of it.",
        2007,
        "Phys.Rev.D76:013009,2007",
        ("C. Balázs", "P. M. Nadolsky Jr"),
        ("hep-ph", "cs.CL"),
        "10.1103/PhysRevD.76.013009",
    )


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"versions": None}, "year", 2009),
        ({"versions": [], "update_date": None}, "year", 0),
        ({"versions": [{"version": "v1"}]}, "year", 2009),
        ({"doi": None}, "doi", "10.48550/arXiv.0704.0001"),
        ({"doi": "10.1/a 10.1/b"}, "doi", "10.1/a"),
        ({"journal-ref": None}, "venue", ""),
        ({"authors_parsed": [["Collaboration", "", ""], ["", "", ""], []]}, "authors", ("Collaboration",)),
        ({"authors_parsed": None}, "authors", ()),
        ({"id": "hep-th/9901001"}, "doi", "10.1103/PhysRevD.76.013009"),
        ({"title": "On $\\mathbb{Z}$ and\n 5 \\% of $n^2$"}, "title", "On $\\mathbb{Z}$ and 5 % of $n^2$"),
    ],
)
def test_what_a_preprint_may_lack(tmp_path: Path, change: dict[str, Any], field: str, value: Any) -> None:
    [paper] = read(tmp_path / "x.json", PREPRINT | change)
    assert getattr(paper, field) == value


def test_the_preprint_is_known_as_one(tmp_path: Path) -> None:
    [paper] = read(tmp_path / "x.json", PREPRINT | {"id": "hep-th/9901001", "doi": None})
    preprint = preprint_of(paper)
    assert preprint is not None
    assert preprint.number == "hep-th/9901001"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"title": ["A"]}, "title must be text, not a list"),
        ({"categories": ["cs.CL"]}, "categories must be text, not a list"),
        ({"authors_parsed": "Balázs"}, "authors_parsed must be a list of names, not 'Balázs'"),
        ({"authors_parsed": ["A"]}, "authors_parsed must be a list of names, each a list of texts, not 'A'"),
        (
            {"authors_parsed": [[3]]},
            "authors_parsed must be a list of names, each a list of texts, not a list",
        ),
        ({"versions": "v1"}, "versions must be a list of objects, not 'v1'"),
    ],
)
def test_a_preprint_that_does_not_fit_is_rejected_alone(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    found = read(tmp_path / "x.json", PREPRINT, PREPRINT | change)
    assert isinstance(found[0], PaperRecord)
    assert isinstance(found[1], Malformed)
    assert found[1].reason == reason


def test_what_is_rejected_is_counted(tmp_path: Path) -> None:
    lines = [PREPRINT, PREPRINT, PREPRINT | {"id": None}, PREPRINT | {"id": "1", "title": " "}]
    corpus = build(open_source(write_lines(tmp_path / "x.json", lines)), tmp_path / "store")
    assert len(corpus) == 1
    assert hits(corpus) == {"duplicate_id": 1, "missing_id": 1, "empty_title": 1}


def test_records_of_other_formats_are_not_recognised() -> None:
    for value in ({"id": "a", "title": "A"}, {"id": "a", "categories": "x"}, {"authors_parsed": []}):
        assert not ArXiv.recognises(value)


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\\", exclude_categories=["C"]), max_size=20)
LINE = st.tuples(st.integers(0, 9999), WORDS, st.integers(1991, 2020), st.lists(WORDS, max_size=3))


@given(st.lists(LINE, min_size=1, max_size=6), st.integers(1, 400))
def test_lines_are_their_preprints_in_parts_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[int, str, int, list[str]]], size: int
) -> None:
    values = [
        {
            "id": f"0704.{number:04d}",
            "title": title,
            "versions": [{"created": f"Mon, 2 Apr {year} 19:18:42 GMT"}],
            "authors_parsed": [[name, "", ""] for name in names],
        }
        for number, title, year, names in lines
    ]
    path = write_lines(tmp_path_factory.mktemp("arxiv") / "x.json", values)
    found = [record for record, _ in records_in_parts(open_source(path, "arxiv"), size)]
    assert found == list(open_source(path, "arxiv"))
    for (number, title, year, names), paper in zip(lines, found, strict=True):
        assert isinstance(paper, PaperRecord)
        assert (paper.id, paper.year) == (f"0704.{number:04d}", year)
        assert paper.title == " ".join(title.split())
        assert paper.authors == tuple(" ".join(name.split()) for name in names if name.strip())
