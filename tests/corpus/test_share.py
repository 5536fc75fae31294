from __future__ import annotations

import pytest
from helpers.records import paper, tiny

from cocite.corpus import share
from cocite.corpus.records import CitationRecord, ContextRecord, NumberedId, Record, SentenceRecord
from cocite.corpus.share import TABLES, ShareBuilder
from cocite.corpus.store import id_hash
from cocite.corpus.streams import SourcePosition


def built(*records: Record, **options: bool) -> share.Share:
    builder = ShareBuilder(**options)
    for line, record in enumerate(records, 1):
        builder.add(record, SourcePosition("x.jsonl", line))
    return builder.take()


def test_the_tables_hold_what_is_kept_with_its_place() -> None:
    made = built(*tiny())
    assert {name: table.num_rows for name, table in made.tables.items()} == {
        "papers": 4, "links": 3, "contexts": 2, "sentences": 3,
    }  # fmt: skip
    assert all(made.tables[name].schema == schema for name, schema in TABLES.items())
    assert made.tables["papers"]["line"].to_pylist() == [3, 4, 6, 8]
    assert made.tables["papers"]["hash"].to_pylist() == [id_hash(id_) for id_ in "abcd"]
    assert made.tables["links"]["owner"].to_pylist() == [1, 2, 3]
    assert made.tables["links"]["cited"].to_pylist()[1] == [id_hash("a"), id_hash("b")]


def test_an_id_of_a_link_may_hold_half_of_a_surrogate_pair() -> None:
    ids = (
        built(CitationRecord("a", "\ud800"), CitationRecord("ü", "b"))
        .tables["links"]["cited_ids"]
        .to_pylist()
    )
    assert [id_.decode("utf-8", "surrogatepass") for (id_,) in ids] == ["\ud800", "b"]


def test_numbers_of_contexts_are_counted_even_of_those_left_out() -> None:
    builder = ShareBuilder()
    for number, text in enumerate(("t", "")):
        record = ContextRecord(NumberedId("a", number), "a", ("b",), text)
        builder.add(record, SourcePosition("x.jsonl", 1))
    assert builder.numbers == 2
    assert builder.take().tables["contexts"]["number"].to_pylist() == [0]


def test_bodies_can_be_left_out() -> None:
    assert built(SentenceRecord("a", 0, ""), bodies=False).hits == []


@pytest.mark.parametrize(("limit", "size"), [("RECORDS", 2), ("LINKS", 3), ("HITS", 1)])
def test_a_share_is_full(monkeypatch: pytest.MonkeyPatch, limit: str, size: int) -> None:
    monkeypatch.setattr(share, limit, size)
    builder = ShareBuilder()
    builder.add(paper("a", "b", "c"), SourcePosition("x.jsonl", 1))
    assert not builder.is_full
    builder.add(paper("b", "b", "d"), SourcePosition("x.jsonl", 2))
    assert builder.is_full
    builder.take()
    assert not builder.is_full
