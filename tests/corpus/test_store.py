from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.records import hits, make, paper

from cocite.corpus.store import BATCH, TAKEN, Corpus
from cocite.errors import IntegrityError


def test_a_store_gives_back_what_it_was_given(tmp_path: Path) -> None:
    corpus = make(tmp_path, split=lambda year: "test" if year > 2001 else "train")
    assert [corpus.paper(row).id for row in range(4)] == ["a", "b", "c", "d"]
    b = corpus.paper(corpus.row("b"))
    assert b == paper(
        "b",
        "a",
        year=2000,
        abstract="Naïve text",
        authors=("Ann Bo", "Cy Di"),
        keyphrases=("x", "y"),
        split="train",
    )
    assert corpus.cites[3].tolist() == [0, 1, 2]
    assert corpus.cited_by[0].tolist() == [1, 2, 3]
    assert corpus.contexts.column("citing").tolist() == [1, 3]
    assert corpus.contexts.take("id", [0, 1]) == ["c1", "c2"]
    assert [corpus.context_cited[i].tolist() for i in range(2)] == [[0], [0, 1, 2]]
    assert corpus.sentence_indptr.tolist() == [0, 1, 1, 1, 3]
    assert corpus.sentences.take("text", range(3)) == ["body of a", "first", "second [[CIT:1]]"]
    together, times = corpus.cocitations
    assert [together[row].tolist() for row in range(4)] == [[1, 2], [0, 2], [0, 1], []]
    assert times.tolist() == [1] * 6
    assert hits(corpus) == {}
    assert corpus.counts["splits"] == {"none": 0, "train": 3, "dev": 0, "test": 1}
    assert corpus.find(["d", "zz", "a"]).tolist() == [3, -1, 0]


@pytest.mark.parametrize("name", ["papers.arrow", "cites.indices.npy", "ids.npy", "sentences.indptr.npy"])
def test_verify_names_the_damaged_file(tmp_path: Path, name: str) -> None:
    make(tmp_path)
    Corpus.verify(tmp_path / "store")
    path = tmp_path / "store" / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match=name):
        Corpus.verify(tmp_path / "store")
    path.write_bytes(data[:-1])
    with pytest.raises(IntegrityError, match=name):
        Corpus.open(tmp_path / "store")


def test_an_empty_source_makes_an_empty_store(tmp_path: Path) -> None:
    corpus = make(tmp_path, [])
    assert (len(corpus), len(corpus.contexts), len(corpus.sentences)) == (0, 0, 0)
    assert corpus.find(["a"]).tolist() == [-1]
    assert len(corpus.context_cited) == 0
    assert corpus.years.tolist() == []


def test_more_papers_than_a_batch(tmp_path: Path) -> None:
    count = 40_000
    corpus = make(tmp_path, (paper(str(i), str(i - 1), year=1990 + i // 2000) for i in range(count)))
    assert len(corpus) == count
    assert [len(chunk) for chunk in corpus.papers.table.column("id").chunks] == [16384, 16384, 7232]
    rows = np.random.default_rng(1).integers(1, count, 200)
    assert corpus.ids(rows) == [str(row) for row in rows]
    assert np.array_equal(corpus.cites.gather(rows)[1], rows - 1)
    assert [p.citations for p in corpus.papers_at(rows[:20])] == [(str(row - 1),) for row in rows[:20]]


def test_rows_are_taken_in_their_order_from_a_column_of_more_than_2_gib(tmp_path: Path) -> None:
    papers = make(tmp_path).papers
    # One batch of 132 MiB, which the column has 17 times: Arrow's take would join them.
    batch = pa.array([f"{row:<8256}" for row in range(BATCH)])
    papers.table = pa.table({"text": pa.chunked_array([batch] * 17)})
    assert papers.table.nbytes > 1 << 31
    rows = np.random.default_rng(0).integers(0, 17 * BATCH, 300)
    assert [int(text) for text in papers.taken("text", rows).to_pylist()] == (rows % BATCH).tolist()
    assert papers.take("text", rows[:20]) == papers.taken("text", rows[:20]).to_pylist()


def test_many_rows_are_taken_in_several_chunks_and_none_in_one(tmp_path: Path) -> None:
    papers = make(tmp_path).papers
    rows = np.tile([3, 0, 0], TAKEN // 2)
    column = papers.taken("id", rows)
    assert [len(chunk) for chunk in column.chunks] == [TAKEN, TAKEN // 2]
    assert column.to_pylist()[:4] == ["d", "a", "a", "d"]
    assert column.to_pylist() == [("a", "b", "c", "d")[row] for row in rows]
    none = papers.taken("authors", rows[:0])
    assert (none.num_chunks, len(none), none.type) == (1, 0, papers.table.schema.field("authors").type)


@pytest.mark.parametrize("in_memory", [0, 10**6])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32])
def test_a_column_of_many_batches_is_one_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: type, in_memory: int
) -> None:
    monkeypatch.setattr("cocite.corpus.store.IN_MEMORY", in_memory)  # above it it lies in a file
    contexts = make(tmp_path).contexts
    expected = np.arange(80).astype(dtype)
    contexts.table = pa.table({"n": pa.chunked_array([expected[:50], expected[:0], expected[50:]])})
    column = contexts.column("n")
    assert column.dtype == dtype
    assert column.tolist() == expected.tolist()


@pytest.mark.parametrize("in_memory", [0, 10**6])
def test_lists_of_many_batches_are_those_of_the_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr("cocite.corpus.store.IN_MEMORY", in_memory)  # above it they lie in a file
    contexts = make(tmp_path).contexts
    rng = np.random.default_rng(3)
    batches = [[rng.integers(0, 9, rng.integers(0, 4)).tolist() for _ in range(rows)] for rows in (50, 0, 30)]
    column = pa.chunked_array([pa.array(rows, pa.list_(pa.int32())) for rows in batches])
    contexts.table = pa.table({"cited": column})
    expected = [row for rows in batches for row in rows]
    for first, last in ((0, None), (0, 80), (10, 60), (50, 50), (79, 80)):
        lists = contexts.lists("cited", first, last)
        assert [lists[row].tolist() for row in range(len(lists))] == expected[first:last]
        assert (lists.indptr.dtype, lists.indices.dtype) == (np.int64, np.int32)
