"""Limits are fitted when an index is built, the same for an index in shards, and kept by the versions after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.topic_corpus import make_records

from cocite.corpus.builder import build as build_store
from cocite.corpus.starter import starter_corpus
from cocite.manifests import MANIFEST
from cocite.pipeline.recommender import Recommender
from cocite.protocols import Query
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.sharded_versions import add_to_shards
from cocite.retrieval.index.snapshot import IndexSnapshot

LETTERS = Query("letters", title="xqzt wvkj pfgh bnmr tyhg")
PARSING = Query("parsing", title="Statistical machine translation with phrases and neural attention")
GAP = Query("gap", context="Die Vögel fliegen jeden Herbst nach Süden [CIT].")


def test_whole_and_in_shards_the_limits_are_the_same(tmp_path: Path) -> None:
    whole = IndexSnapshot.create(starter_corpus(), tmp_path / "whole")
    divided = ShardedIndex.create(starter_corpus(), tmp_path / "divided", shards=3)
    assert whole.domain is not None
    assert whole.domain == divided.domain
    assert whole.domain.documents == (423, 620)
    assert set(whole.domain.kinds) == {"local", "global"}
    for index in (whole, divided):
        assert index.are_unlike([LETTERS, PARSING, GAP]).tolist() == [True, False, True]


def test_later_versions_keep_the_limits(tmp_path: Path) -> None:
    built = IndexSnapshot.create(starter_corpus(), tmp_path / "whole")
    grown = IndexSnapshot.add(tmp_path / "whole", make_records(3, start=80))
    gone = IndexSnapshot.remove(tmp_path / "whole", ["p80"])
    assert built.domain == grown.domain == gone.domain
    ShardedIndex.create(starter_corpus(), tmp_path / "divided", shards=2)
    assert add_to_shards(tmp_path / "divided", make_records(3, start=80)).domain == built.domain


def test_an_index_without_limits_notes_nothing(tmp_path: Path) -> None:
    path = IndexSnapshot.create(starter_corpus(), tmp_path).path / MANIFEST
    manifest = json.loads(path.read_text())
    del manifest["meta"]["domain"], manifest["sha256"]
    path.write_text(json.dumps(manifest))
    old = IndexSnapshot.open(tmp_path)
    assert old.domain is None
    assert not old.are_unlike([LETTERS]).any()


def test_too_few_papers_have_no_limits(tmp_path: Path) -> None:
    index = IndexSnapshot.create(build_store(make_records(20), tmp_path / "corpus"), tmp_path / "index")
    assert index.manifest.meta["domain"] is None
    assert index.domain is None


@pytest.mark.parametrize(
    ("query", "note"),
    [
        (LETTERS, "this text is unlike the papers of the corpus, which may hold nothing for it"),
        (Query("mark", context="[CIT]"), "this text has no words to search with"),
        (PARSING, ""),
    ],
    ids=lambda value: value.id if isinstance(value, Query) else "",
)
def test_a_list_says_so(tmp_path: Path, query: Query, note: str) -> None:
    found = Recommender.over(None, IndexSnapshot.create(starter_corpus(), tmp_path)).recommend(query)
    assert found.note == note
    assert found.unlike_corpus == (query is LETTERS)
    assert (note in found._repr_html_()) or not note
