"""Queries of a JSONL file: fields, defaults from the corpus, and errors that name the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cocite.errors import InputError, NotFoundError
from cocite.evaluation import queries
from cocite.evaluation.queries import QueryFile
from cocite.protocols import NO_ROW


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_fields_that_a_line_lacks_are_those_of_its_paper(split_corpus, tmp_path):
    known = split_corpus.paper(200)
    path = write(
        tmp_path / "q.jsonl",
        {"id": "a", "paper": known.id, "context": "words [CIT] more"},
        "",
        {"id": 7, "paper": known.id, "title": "Another title", "year": 1999, "venue": None},
        {"id": "c", "title": "From outside", "exclude": [known.id, "elsewhere"], "sentence": 3},
    )
    file = QueryFile(path, split_corpus)
    a, b, c = file
    assert (a.title, a.abstract, a.authors, a.year) == (
        known.title,
        known.abstract,
        known.authors,
        known.year,
    )
    assert (a.paper, a.context, a.sentence) == (200, "words [CIT] more", NO_ROW)
    assert (b.id, b.title, b.abstract, b.year, b.venue) == (
        "7",
        "Another title",
        known.abstract,
        1999,
        known.venue,
    )
    assert (c.paper, c.authors, c.year, c.exclude, c.sentence) == (NO_ROW, (), None, (200,), 3)
    assert file.unknown_excludes == 1
    assert file.check() == 3
    assert file.unknown_excludes == 1, "each reading counts anew"


@pytest.mark.parametrize("size", [1, 2, 5])
def test_batches_hold_all_queries_in_order(split_corpus, tmp_path, size, monkeypatch):
    monkeypatch.setattr(queries, "BATCH", 2)
    path = write(tmp_path / "q.jsonl", *({"id": str(i), "title": f"title {i}"} for i in range(5)))
    batches = list(QueryFile(path, split_corpus).batches(size))
    assert [len(batch) for batch in batches] == [min(size, 5 - first) for first in range(0, 5, size)]
    assert [query.id for batch in batches for query in batch] == list("01234")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 2: must be one JSON object"),
        ("{", "line 2: not valid JSON"),
        ('{"id": "b", "id": "c", "title": "t"}', "line 2: not valid JSON: a field is given twice"),
        ({"id": "a", "title": "t"}, "line 2: id: 'a' has been used by an earlier line"),
        ({"id": "b c", "title": "t"}, "the query id of .*line 2, 'b c' is empty or contains a space"),
        ({"id": "b"}, "line 2: has no text to rank by"),
        ({"id": "b", "context": "[CIT]"}, "line 2: has no text to rank by"),
        (
            {"id": "b", "title": "t", "paper": "nowhere"},
            "line 2: paper: no paper of the corpus has the id 'nowhere'",
        ),
        ({"id": "b", "title": "t", "yaer": 1999}, "line 2: unknown key 'yaer'"),
        ({"id": "b", "title": "t" * 4001}, "line 2: title"),
    ],
)
def test_an_error_names_the_line(split_corpus, tmp_path, line, message):
    path = write(tmp_path / "q.jsonl", {"id": "a", "title": "fine"}, line)
    with pytest.raises(InputError, match=message):
        QueryFile(path, split_corpus).check()


def test_files_that_hold_no_query(split_corpus, tmp_path, monkeypatch):
    with pytest.raises(NotFoundError, match="no such file"):
        QueryFile(tmp_path / "none", split_corpus).check()
    with pytest.raises(InputError, match="holds no query"):
        QueryFile(write(tmp_path / "empty", ""), split_corpus).check()
    with pytest.raises(InputError, match="cannot be read"):
        QueryFile(tmp_path, split_corpus).check()
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\n")
    with pytest.raises(InputError, match="line 1: not valid UTF-8"):
        QueryFile(tmp_path / "bytes", split_corpus).check()
    monkeypatch.setattr(queries, "LINE_LIMIT", 20)
    with pytest.raises(InputError, match="line 1: longer than 20 bytes"):
        QueryFile(write(tmp_path / "long", {"id": "a", "title": "a long title"}), split_corpus).check()


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_ranges_hold_all_queries_in_order(split_corpus, tmp_path, size, monkeypatch):
    monkeypatch.setattr(queries, "BATCH", 4)
    lines = [{"id": i, "title": f"title {i} \u00fc", "exclude": ["nobody"]} for i in range(10)]
    path = write(tmp_path / "q.jsonl", "", *lines[:4], "  ", "", *lines[4:], "")
    whole = list(QueryFile(path, split_corpus))
    file = QueryFile(path, split_corpus)
    ranges = file.ranges(size)
    assert [part.count for part in ranges[:-1]] == [size] * (len(ranges) - 1)
    assert file.unknown_excludes == 10
    parts = [QueryFile(path, split_corpus, within) for within in ranges]
    assert [query for part in parts for query in part] == whole
    assert sum(part.unknown_excludes for part in parts) == 10
    assert file.check() == 10


def test_an_error_in_a_range_names_the_line_of_the_file(split_corpus, tmp_path):
    path = write(tmp_path / "q.jsonl", *({"id": i, "title": "a"} for i in range(6)))
    *_, last = QueryFile(path, split_corpus).ranges(4)
    write(path, *({"id": i, "title": "a"} for i in range(5)), {"id": 5, "titel": "a"})
    with pytest.raises(InputError, match=r"q\.jsonl, line 6: .*titel"):
        list(QueryFile(path, split_corpus, last))
    with pytest.raises(InputError, match="holds no query"):
        QueryFile(write(tmp_path / "none.jsonl", ""), split_corpus).ranges(3)
