from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.odd_papers import of_real_shape

from cocite.corpus import csl_json
from cocite.corpus.bibtex import citation_keys
from cocite.corpus.importers import detect, open_source
from cocite.corpus.importers.csl import CSL
from cocite.corpus.records import Malformed, PaperRecord


def read(path: Path, *items: Any) -> list[Any]:
    path.write_text(json.dumps(items))
    assert detect(path) == "csl-json"
    return list(open_source(path))


def test_an_item_of_zotero(tmp_path: Path) -> None:
    item = {
        "id": "http://zotero.org/users/1/items/AB",
        "type": "article-journal",
        "title": 'On <i>n</i><sup>2</sup> and <span class="nocase">BERT</span>',
        "abstract": "Text.",
        "container-title": "TACL",
        "DOI": "https://doi.org/10.1000/182",
        "keyword": "parsing, trees",
        "author": [
            {"family": "Beethoven", "given": "Ludwig", "non-dropping-particle": "van"},
            {"family": "King", "given": "Martin", "suffix": "Jr."},
            {"literal": "Google, Inc."},
            {},
        ],
        "issued": {"date-parts": [["2003", 5, 1]]},
    }
    assert read(tmp_path / "x.json", item) == [
        PaperRecord(
            "http://zotero.org/users/1/items/AB",
            "On n2 and BERT",
            "Text.",
            2003,
            "TACL",
            ("Ludwig van Beethoven", "Martin King Jr.", "Google, Inc."),
            ("parsing", "trees"),
            "10.1000/182",
        )
    ]


@pytest.mark.parametrize(
    ("issued", "year"),
    [
        ({"raw": "May 1999"}, 1999),
        ({"literal": "in press"}, 0),
        ({"date-parts": [[None]]}, 0),
        ({"date-parts": []}, 0),
        ({"date-parts": "2000"}, 0),
        ({}, 0),
    ],
)
def test_years(tmp_path: Path, issued: dict[str, Any], year: int) -> None:
    [paper] = read(
        tmp_path / "x.json", {"id": 7, "title": "A", "issued": issued, "author": [{"family": "B"}]}
    )
    assert (paper.id, paper.year) == ("7", year)


def test_an_item_that_does_not_fit_is_rejected_alone(tmp_path: Path) -> None:
    good = {"id": "a", "title": "A", "issued": {}}
    found = read(
        tmp_path / "x.json", good, {"id": "b", "title": ["B"]}, {"id": "c", "title": "C", "author": 3}
    )
    assert [type(record) for record in found] == [PaperRecord, Malformed, Malformed]
    assert [record.reason for record in found[1:]] == [
        "title must be text, not a list",
        "author must be a list of objects, not 3",
    ]


def test_a_list_under_items_is_read(tmp_path: Path) -> None:
    found = read(tmp_path / "x.json", {"items": [{"id": "a", "title": "A", "issued": {}}, 3]})
    assert found[0].id == "a"
    assert found[1].reason == "items[1]: item must be an object, not 3"


def test_items_of_other_formats_are_not_recognised() -> None:
    for value in (
        {"id": "a", "title": "A"},
        {"DOI": "10.1/1", "title": ["A"], "container-title": ["B"], "issued": {}},
        {"id": "a", "title": ["A"], "container-title": ["B"]},
        {"items": []},
        {"items": [{"items": [{"id": "a", "title": "A", "issued": {}}]}]},
    ):
        assert not CSL.recognises(value)


def test_a_thousand_written_items_come_back(tmp_path: Path) -> None:
    papers = of_real_shape(1000)
    path = tmp_path / "x.json"
    path.write_text(csl_json.entries(papers), encoding="utf-8")
    back = list(open_source(path, "csl-json"))
    assert [record.id for record in back] == citation_keys(papers)
    for paper, record in zip(papers, back, strict=True):
        assert isinstance(record, PaperRecord)
        # CSL reads <b> in a title as markup.
        assert record.title == paper.title.replace("<b>", "").replace("</b>", "")
        assert (record.year, record.venue, record.doi) == (
            paper.year,
            " ".join(paper.venue.split()),
            paper.doi,
        )
        assert record.authors == tuple(name.replace(", Jr", " Jr") for name in paper.authors)
