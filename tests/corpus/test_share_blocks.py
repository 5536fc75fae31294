"""Blocks of lines give the store, the rejects and the error that the same records give one by one."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.staged import import_parts, one_by_one, one_part, outcome
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cocite.corpus import share
from cocite.corpus.importers import line_blocks, open_source
from cocite.corpus.record_block import RecordBlock
from cocite.corpus.rules import Limits
from cocite.corpus.share import TABLES, ShareBuilder

SHORT = Limits(id=24, title=30, abstract=40, name=10, names=2, citations=4, context=60, section=8, group=3)
IDS = st.sampled_from(["a", "b", "c", "d"])
ANY_ID = IDS | st.sampled_from(["x", " a ", "", "\ud800", "ü", "i" * 25, 7, None, "a\n"])
TEXTS = st.sampled_from(
    ["", "plain", " outer ", "naïve", "nai\u0308ve", "as [CIT] says", "two\nlines", "bad\u0001", "\ufeff", "\ud83d",
     "l" * 60, "[CIT]" * 8, "𝐀", "null", '"id": null', 3, None, {}]
)  # fmt: skip
NUMBERS = st.sampled_from([0, 1, -1, 1990, 1991, 2005, 99, 1990.0, "1990", "soon", None, 1 << 40, True])
NAMES = st.lists(TEXTS, max_size=3) | st.none() | st.just([{"name": "N"}])
PAPERS = st.fixed_dictionaries(
    {"id": IDS, "title": st.just("A title")},
    optional={
        "abstract": TEXTS,
        "year": NUMBERS,
        "venue": TEXTS,
        "authors": NAMES,
        "keyphrases": NAMES,
        "doi": TEXTS,
        "split": st.sampled_from(["", "train", "test", "later", None]),
        "citations": st.lists(ANY_ID, max_size=5),
    },
)
CONTEXTS = st.fixed_dictionaries(
    {"citing": IDS, "cited": st.lists(IDS, min_size=1, max_size=4), "context": st.just("as [CIT] says")},
    optional={
        "id": ANY_ID,
        "sentence": NUMBERS,
        "section": TEXTS,
        "group": NUMBERS,
        "unresolved": NUMBERS,
    },
)
CHANGES = st.dictionaries(
    st.sampled_from(["id", "title", "context", "text", "paper", "citing", "cited", "year", "colour"]),
    ANY_ID | TEXTS,
    max_size=1,
)
LINES = st.one_of(
    PAPERS,
    CONTEXTS,
    st.builds(lambda line, change: line | change, PAPERS | CONTEXTS, CHANGES),
    st.builds(
        lambda line, nested: line | {"contexts": nested},
        PAPERS,
        st.lists(st.just({"cited": "a", "context": "c [CIT]"}), max_size=2),
    ),
    st.sampled_from(
        ["no JSON", "", "  ", "[1]", '{"id": "a", "id": "b"}', '{"id": "a", "title": "A"} {"id": "b", "title": "B"}',
         '{"id": "q", "title": "Q", "cont\\u0065xt": null}', '{"id": "r", "title": "R"}\r', '\ufeff{"id": "s"}',
         '{"id": "t", "title": "T', '", "abstract": "two lines"}']
    ),
)  # fmt: skip


def written(path: Path, lines: list[Any], *, ascii_: bool = True) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=ascii_) for line in lines]
    path.write_bytes("\n".join(texts).encode("utf-8", "surrogatepass"))
    return path


@settings(max_examples=150)
@given(
    st.lists(LINES, min_size=1, max_size=40),
    st.sampled_from([1, 400, 1 << 22]),
    st.sampled_from([1, 4, 16]),
    st.sampled_from([3, 8192]),
    st.booleans(),
    st.booleans(),
)
@example([{"id": "a", "title": "A"}, {"id": "b", "title": "B", "section": None}], 400, 16, 8192, False, False)
@example([{"id": "a", "title": "A", "context": None}], 400, 16, 8192, False, True)
def test_blocks_are_their_records(
    tmp_path: Path, lines: list[Any], block: int, smallest: int, records: int, strict: bool, ascii_: bool
) -> None:
    source = written(tmp_path / "x.jsonl", [{"id": "z", "title": "First"}, *lines], ascii_=ascii_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK", block)
        patch.setattr(line_blocks, "SMALLEST", smallest)
        patch.setattr(share, "RECORDS", records)
        ways = [one_by_one, one_part, partial(import_parts, size=300, divided=True)]
        one, blocks, parts = (
            outcome(tmp_path / "at", partial(way, source), strict=strict, limits=SHORT) for way in ways
        )
    assert one == blocks
    assert one == parts


def test_the_property_has_plain_lines_and_others(tmp_path: Path) -> None:
    lines: list[Any] = [
        {"id": "a", "title": "A", "authors": ["X Y"], "citations": ["b"], "year": None},
        {"id": 7, "title": "B"},
        {"citing": "a", "cited": ["b"], "context": "c [CIT]"},
        {"id": "c", "title": "C", "context": None},
        {"citing": "a", "cited": ["b"], "context": "d", "id": "k"},
    ]
    source = open_source(written(tmp_path / "x.jsonl", lines))
    block = next(source.record_blocks())
    assert isinstance(block, RecordBlock)
    assert (block.lines.tolist(), block.others.tolist()) == (
        [],
        [0, 1, 2, 3, 4],
    )  # one half too small to divide
    builder = ShareBuilder()
    builder.add_block(block)
    assert builder.numbers == 1


def test_a_share_holds_plain_records_among_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_blocks, "SMALLEST", 1)
    lines: list[Any] = [
        {"id": "a", "title": "A", "citations": ["b"]},
        {"id": 7, "title": "B", "citations": ["7", "a"]},
        {"id": "c", "title": "C", "citations": ["a"]},
        {"citing": "c", "cited": ["a"], "context": "t [CIT]"},
        {"citing": "c", "cited": ["a", "a"], "context": "u"},
        {"citing": "c", "cited": ["7"], "context": "v"},
    ]
    builder = ShareBuilder()
    for block in open_source(written(tmp_path / "x.jsonl", lines)).record_blocks():
        assert isinstance(block, RecordBlock)
        assert block.others.tolist() == [1]
        builder.add_block(block)
    made = builder.take()
    assert all(made.tables[name].schema == schema for name, schema in TABLES.items())
    assert made.tables["papers"]["id"].to_pylist() == ["a", "7", "c"]
    assert made.tables["links"]["owner"].to_pylist() == [0, 1, 2]
    assert made.tables["contexts"]["id"].to_pylist() == ["c/0", "c/1", "c/2"]
    assert made.tables["contexts"]["line"].to_pylist() == [4, 5, 6]
    assert [(hit.rule, hit.owner) for hit in made.hits] == [("self_citation", 1)]
