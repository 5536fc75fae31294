from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from helpers.records import hits, write_lines
from helpers.staged import import_parts, records_in_parts

from cocite.corpus.builder import build
from cocite.corpus.importers import detect, open_source
from cocite.corpus.importers.crossref import Crossref
from cocite.corpus.records import Malformed, PaperRecord

WORK: dict[str, Any] = {
    "DOI": "10.1162/TACL_a_1",
    "type": "journal-article",
    "title": ["On <i>BERT</i> &amp; co", "Another title"],
    "abstract": "<jats:title>Abstract</jats:title><jats:p>One.</jats:p><jats:p>Two.</jats:p>",
    "issued": {"date-parts": [[2019, 5, 1]]},
    "container-title": ["Transactions &amp; more", "TACL"],
    "author": [
        {"given": "Ann", "family": "Lee", "suffix": "Jr", "sequence": "first", "affiliation": []},
        {"name": "Google, Inc."},
        {"family": "Bo"},
        {},
    ],
    "reference": [
        {"key": "1", "DOI": "10.1/A", "doi-asserted-by": "publisher"},
        {"key": "2", "unstructured": "A book."},
        {"key": "3", "DOI": "https://doi.org/10.1/B"},
        {"key": "4", "DOI": " "},
    ],
    "is-referenced-by-count": 7,
}
CITED: list[dict[str, Any]] = [
    {"DOI": doi, "title": [f"Title {doi}"], "issued": {"date-parts": [[2010]]}}
    for doi in ("10.1/a", "10.1/B")
]
WORKS = [WORK, *CITED]


def test_a_work(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [WORK])
    assert detect(path) == "crossref"
    paper, unmatched = open_source(path)
    assert paper == PaperRecord(
        "10.1162/tacl_a_1",
        "On BERT & co",
        "One. Two.",
        2019,
        "Transactions & more",
        ("Ann Lee Jr", "Google, Inc.", "Bo"),
        (),
        "10.1162/tacl_a_1",
        citations=("10.1/a", "10.1/b"),
    )
    assert unmatched == Malformed(
        "2 of 4 references of 10.1162/tacl_a_1 have no DOI", "reference", "unmatched_citation", count=2
    )


FORMS: dict[str, str] = {
    "lines": "\n".join(map(json.dumps, WORKS)),
    "array": json.dumps(WORKS),
    "page of the public data file": json.dumps({"items": WORKS}),
    "page over several lines": json.dumps({"items": WORKS}, indent=1),
    "answer of the API": json.dumps(
        {"status": "ok", "message-type": "work-list", "message": {"total-results": 3, "items": WORKS}}
    ),
    "answers of one work": "\n".join(
        json.dumps({"status": "ok", "message-type": "work", "message": work}) for work in WORKS
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_works_are_the_same_in_each_form(tmp_path: Path, form: str, packed: bool) -> None:
    path = tmp_path / ("0.json.gz" if packed else "0.json")
    data = FORMS[form].encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    assert detect(path) == "crossref"
    corpus = build(open_source(path), tmp_path / "store")
    assert [paper.id for paper in corpus.papers_at(range(3))] == ["10.1162/tacl_a_1", "10.1/a", "10.1/b"]
    assert corpus.cites[0].tolist() == [1, 2]
    assert hits(corpus) == {"unmatched_citation": 2}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [50, 1 << 30])
def test_parts_of_any_size_make_the_same_store(tmp_path: Path, form: str, size: int) -> None:
    path = tmp_path / "0.json"
    path.write_text(FORMS[form])
    assert [r for r, _ in records_in_parts(open_source(path), size)] == list(open_source(path))
    whole = build(open_source(path), tmp_path / "whole")
    assert import_parts(path, tmp_path / "store", size).version == whole.version


def test_a_folder_of_pages_is_one_source(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for number, work in enumerate(WORKS):
        (folder / f"{number}.json.gz").write_bytes(gzip.compress(json.dumps({"items": [work]}).encode()))
    assert detect(folder) == "crossref"
    assert len(build(open_source(folder), tmp_path / "store")) == 3


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"issued": {"date-parts": [[None]]}}, "year", 0),
        ({"issued": None}, "year", 0),
        ({"title": "A text"}, "title", "A text"),
        ({"title": []}, "title", ""),
        ({"container-title": None}, "venue", ""),
        ({"abstract": None}, "abstract", ""),
        ({"reference": None}, "citations", ()),
        ({"author": []}, "authors", ()),
    ],
)
def test_what_a_work_may_lack(tmp_path: Path, change: dict[str, Any], field: str, value: Any) -> None:
    path = write_lines(tmp_path / "x.jsonl", [WORK | change])
    assert detect(path) == "crossref"
    assert getattr(next(iter(open_source(path))), field) == value


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (WORK | {"title": [["A"]]}, "title must be a list of texts, not a list"),
        (WORK | {"abstract": ["A"]}, "abstract must be text, not a list"),
        (WORK | {"author": "Lee"}, "author must be a list of objects, not 'Lee'"),
        (WORK | {"author": [{"family": 3.5, "given": []}]}, "given must be text, not a list"),
        (WORK | {"reference": [3]}, "reference must be a list of objects, not a list"),
        (WORK | {"reference": [{"DOI": {}}]}, "DOI must be text, not an object"),
        (WORK | {"issued": 2019}, "issued must be an object, not 2019"),
        (3, "work must be an object, not 3"),
    ],
)
def test_a_work_that_does_not_fit_is_rejected_alone(tmp_path: Path, work: Any, reason: str) -> None:
    answer = {"message-type": "work-list", "message": {"items": [CITED[0], work, CITED[1]]}}
    (tmp_path / "x.json").write_text(json.dumps(answer))
    first, broken, last = open_source(tmp_path / "x.json")
    assert isinstance(first, PaperRecord)
    assert isinstance(broken, Malformed)
    assert isinstance(last, PaperRecord)
    assert broken.reason == f"message.items[1]: {reason}"


def test_what_is_rejected_is_counted(tmp_path: Path) -> None:
    works = [*WORKS, WORK, {"DOI": None, "title": ["A"], "reference": [{}]}, {"DOI": "10.1/c", "title": []}]
    corpus = build(open_source(write_lines(tmp_path / "x.jsonl", works)), tmp_path / "store")
    assert len(corpus) == 3
    counts = {"duplicate_id": 1, "missing_id": 1, "empty_title": 1, "unmatched_citation": 5}
    assert hits(corpus) == counts


def test_a_message_that_is_no_object_is_rejected(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [WORK, {"message-type": "work", "message": 3}])
    assert list(open_source(path))[-1].reason == "message must be an object, not 3"


def test_records_of_other_formats_are_not_recognised() -> None:
    for value in (
        {"id": "a", "title": "A"},
        {"id": "a", "title": "A", "DOI": "10.1/a", "container-title": "B"},
        {"message-type": "work"},
        {"DOI": "10.1/a"},
    ):
        assert not Crossref.recognises(value)
