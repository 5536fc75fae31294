from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cocite.corpus.importers import open_source
from cocite.corpus.record_block import RecordBlock
from cocite.corpus.rules import Limits
from cocite.corpus.share_columns import BlockHashes, plain_contexts, plain_papers

PAPER: dict[str, Any] = {"id": "a", "title": "A", "citations": ["b"], "authors": ["X"], "year": 1990}
CONTEXT: dict[str, Any] = {"citing": "a", "cited": ["b", "c"], "context": "as [CIT] says"}


def block_of(path: Path, *lines: dict[str, Any]) -> RecordBlock:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    block = next(iter(open_source(path, "jsonl").record_blocks()))
    assert isinstance(block, RecordBlock)
    return block


@pytest.mark.parametrize(
    "change",
    [{"title": " "}, {"id": "ü"}, {"id": " a"}, {"year": 99}, {"split": "later"}, {"authors": [""]},
     {"citations": ["a"]}, {"citations": ["b "]}, {"abstract": "\x01"}, {"section": "S"}, {"keyphrases": ["k"] * 1001}],
)  # fmt: skip
def test_a_paper_that_meets_a_rule_is_not_plain(tmp_path: Path, change: dict[str, Any]) -> None:
    block = block_of(tmp_path / "x.jsonl", PAPER, PAPER | change, PAPER)
    made = plain_papers(block, Limits(), BlockHashes(block.columns))
    assert made.lines.tolist() == [0, 2]
    assert made.columns["title"].to_pylist() == ["A", "A"]
    assert made.links["cited_ids"].to_pylist() == [[b"b"], [b"b"]]


@pytest.mark.parametrize(
    "change",
    [{"context": " "}, {"cited": []}, {"cited": ["b", "b"]}, {"cited": ["a"]}, {"id": "ü"}, {"citing": "a\n"},
     {"section": "\x01"}, {"group": 1 << 40}, {"title": "T"}, {"cited": ["b"] * 201}, {"citing": "a" * 500}],
)  # fmt: skip
def test_a_context_that_meets_a_rule_is_not_plain(tmp_path: Path, change: dict[str, Any]) -> None:
    block = block_of(tmp_path / "x.jsonl", PAPER, CONTEXT, CONTEXT | change, CONTEXT | {"id": "k"})
    made = plain_contexts(block, Limits(), BlockHashes(block.columns))
    assert made.lines.tolist() == [1, 3]
    assert made.columns["number"].to_pylist() == [0, -1]
    assert made.columns["text"].to_pylist() == ["as TARGETCIT says"] * 2
