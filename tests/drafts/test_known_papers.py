"""Papers of a corpus by DOI and title."""

from __future__ import annotations

import gc
import random
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.starter import starter_corpus
from cocite.corpus.store import Corpus
from cocite.corpus.title_forms import normal_titles
from cocite.drafts import known_papers
from cocite.drafts.known_papers import KnownPapers, text_hashes

CORPUS = starter_corpus()
TITLES = CORPUS.papers.take("title", range(len(CORPUS)))


def table(titles: list[str], dois: list[str] | None = None, *, chunk: int = 3) -> pa.Table:
    """Papers in chunks."""
    whole = pa.table({"title": titles, "doi": dois or [""] * len(titles)})
    batches = whole.to_batches(max_chunksize=chunk)
    return pa.Table.from_batches(batches, whole.schema)


def by_comparison(titles: list[str], wanted: list[str]) -> dict[str, list[int]]:
    """What is looked up, by comparing all with all."""
    forms = normal_titles(pa.array(titles, pa.string())).to_pylist()
    asked = {*normal_titles(pa.array(wanted, pa.string())).to_pylist()} - {""}
    return {one: [row for row, has in enumerate(forms) if has == one] for one in asked & {*forms}}


def test_all_titles_of_a_corpus_are_found_as_by_comparing_each() -> None:
    wanted = [title.upper() for title in random.Random(3).sample(TITLES, 60)] + ["Another title", "", "?"]
    assert KnownPapers.of(CORPUS).rows("title", wanted) == by_comparison(TITLES, wanted)


TEXTS = st.lists(
    st.sampled_from(["", "a", "A!", "b", "ab", "ba", "aab", "trees", "Trées", "graph trees"]), max_size=20
)


@given(TEXTS, TEXTS, st.integers(1, 7))
def test_papers_of_one_title_are_all_found_in_order(titles: list[str], wanted: list[str], chunk: int) -> None:
    known = KnownPapers(table(titles, chunk=chunk))
    assert known.rows("title", wanted) == by_comparison(titles, wanted)
    assert known.rows("title", wanted[::-1]) == by_comparison(titles, wanted)


def test_values_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_papers, "text_hashes", lambda texts: np.full(len(texts), 7, np.uint32))
    known = KnownPapers(table(["Trees", "Graphs", "trees!", ""], ["10.1/A", "", "10.1/b", ""]))
    assert known.rows("title", ["Graphs", "trees", "Words"]) == {"graphs": [1], "trees": [0, 2]}
    assert known.rows("doi", ["10.1/a", "10.1/C", ""]) == {"10.1/a": [0]}


def test_a_long_title_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "tree " * 2_000
    known = KnownPapers(table([long + "one", long + "two"]))
    assert list(known.rows("title", [long + "two"]).values()) == [[1]]


def test_only_the_first_look_up_reads_all_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def normal(titles: Any) -> Any:
        read.append(len(titles))
        return normal_titles(titles)

    monkeypatch.setitem(known_papers._NORMAL, "title", normal)
    known = KnownPapers(CORPUS.papers.table)
    known.rows("title", TITLES[:2])
    assert sum(read) >= len(CORPUS)
    read.clear()
    known.rows("title", TITLES[2:5])
    assert sum(read) == 3 + 3  # those asked for, and those found


def test_an_opened_corpus_has_one_and_a_closed_one_none(tmp_path: Path) -> None:
    (tmp_path / "papers.jsonl").write_text('{"id": "a", "title": "Parsing trees", "year": 1999}\n')
    build(NativeJSONL(tmp_path / "papers.jsonl"), tmp_path / "corpus")
    corpus = Corpus.open(tmp_path / "corpus")
    assert KnownPapers.of(corpus) is KnownPapers.of(corpus)
    assert KnownPapers.of(corpus) is not KnownPapers.of(Corpus.open(tmp_path / "corpus"))
    known = weakref.ref(KnownPapers.of(corpus))
    del corpus
    gc.collect()
    assert known() is None


def test_hashes() -> None:
    texts = ["", "a", "b", "ab", "ba", "a" * 5_000, "a" * 4_999, "é", ""]
    hashes = text_hashes(pa.array(texts)).tolist()
    assert hashes == text_hashes(pa.array(["x", *texts, "y"]).slice(1, len(texts))).tolist()
    assert hashes[0] == hashes[-1] == 0
    assert len({*hashes}) == len({*texts}) - 1  # of the long ones the beginning counts
    assert text_hashes(pa.array([], pa.string())).tolist() == []
