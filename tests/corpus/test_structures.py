"""Id table, sorted files and compressed sparse rows against plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus import idtable
from cocite.corpus.cocitation import count_pairs
from cocite.corpus.csr import CSR
from cocite.corpus.idtable import HashSet, IdTable
from cocite.corpus.links import PAIR, WEIGHTED, bucket_limits, write_csr
from cocite.corpus.spill import BatchWriter, NpyWriter, PairFile
from cocite.corpus.store import BATCH, ArrowFile
from cocite.errors import InputError

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60)


@given(st.lists(st.lists(st.integers(0, 30).map(str), max_size=12), max_size=8))
def test_id_table_numbers_new_ids_in_order(batches: list[list[str]]) -> None:
    table, rows = IdTable(), dict[str, int]()
    for batch in batches:
        new = [id_ not in rows and id_ not in batch[:i] for i, id_ in enumerate(batch)]
        assert table.add(batch).tolist() == new
        for id_ in batch:
            rows.setdefault(id_, len(rows))
    asked = [str(i) for i in range(40)]
    expected = [rows.get(id_, -1) for id_ in asked]
    assert table.find(IdTable.hashes(asked)).tolist() == expected
    entries = table.entries()
    assert (np.diff(entries["hash"].astype(object)) > 0).all()
    assert table.find(IdTable.hashes(asked)).tolist() == expected
    assert len(table) == len(rows)


def test_two_ids_with_one_hash_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idtable, "id_hash", lambda text: len(text))
    table = IdTable()
    table.add(["a", "bb"])
    assert table.add(["a"]).tolist() == [False]
    with pytest.raises(InputError, match="'cc' has the same 64-bit hash"):
        table.add(["cc"])
    with pytest.raises(InputError, match="same 64-bit hash"):
        table.add(["ddd", "eee"])


@given(st.lists(st.lists(st.integers(0, 20), max_size=10), max_size=8), st.sampled_from([2, 100]))
def test_hash_set(monkeypatch: pytest.MonkeyPatch, batches: list[list[int]], longest: int) -> None:
    monkeypatch.setattr(idtable, "MAX_RUN", longest)
    seen, hashes = set[int](), HashSet()
    for batch in batches:
        expected = [value not in seen and value not in batch[:i] for i, value in enumerate(batch)]
        assert hashes.add(np.array(batch, np.uint64)).tolist() == expected
        seen.update(batch)


@given(PAIRS)
def test_csr_holds_the_distinct_pairs(pairs: list[tuple[int, int]]) -> None:
    csr = CSR.build([a for a, _ in pairs], [b for _, b in pairs], 10)
    expected = [sorted({b for a, b in pairs if a == row}) for row in range(10)]
    assert [csr[row].tolist() for row in range(10)] == expected
    assert csr.degrees.tolist() == [len(entries) for entries in expected]
    rows = [3, 0, 3, 9]
    owner, entries = csr.gather(rows)
    assert [entries[owner == i].tolist() for i in range(4)] == [expected[row] for row in rows]
    there = csr.contains(np.arange(10)[:, None], np.arange(-1, 12))
    assert there.tolist() == [[value in expected[row] for value in range(-1, 12)] for row in range(10)]
    back = csr.transpose().transpose()
    assert np.array_equal(back.indptr, csr.indptr)
    assert np.array_equal(back.indices, csr.indices)


@given(PAIRS, st.integers(1, 9), st.booleans())
def test_sorting_on_disk_equals_sorting_in_memory(
    tmp_path: Path, pairs: list[tuple[int, int]], bucket: int, flip: bool
) -> None:
    file = PairFile(tmp_path / "p", PAIR)
    left, right = np.array([a for a, _ in pairs], np.int32), np.array([b for _, b in pairs], np.int32)
    file.write(left, right)
    count = write_csr(file, 10, tmp_path, "x", scratch=tmp_path, flip=flip, bucket=bucket)
    expected = CSR.build(right, left, 10) if flip else CSR.build(left, right, 10)
    assert np.load(tmp_path / "x.indptr.npy").tolist() == expected.indptr.tolist()
    indices = np.load(tmp_path / "x.indices.npy")
    assert indices.dtype == np.int32
    assert indices.tolist() == expected.indices.tolist()
    assert count == len(expected.indices)


@given(PAIRS, st.integers(1, 9))
def test_weights_of_equal_pairs_are_summed(tmp_path: Path, pairs: list[tuple[int, int]], bucket: int) -> None:
    file = PairFile(tmp_path / "p", WEIGHTED)
    weights = np.arange(1, len(pairs) + 1)
    file.write(np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]), weights)
    write_csr(file, 10, tmp_path, "w", scratch=tmp_path, bucket=bucket)
    total = Counter[tuple[int, int]]()
    for pair, weight in zip(pairs, weights.tolist(), strict=True):
        total[pair] += weight
    assert np.load(tmp_path / "w.counts.npy").tolist() == [total[pair] for pair in sorted(total)]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30), st.integers(1, 25))
def test_bounds_cut_rows_into_ranges_of_about_one_size(degrees: list[int], size: int) -> None:
    limits = bucket_limits(np.array(degrees), size).tolist()
    assert limits == sorted(set(limits))
    assert limits[-1] == len(degrees)
    starts = [0, *limits[:-1]]
    assert all(sum(degrees[a : b - 1]) <= size for a, b in zip(starts, limits, strict=True))


@given(st.lists(st.sets(st.integers(0, 7), min_size=1, max_size=5), max_size=12))
def test_cocitations_count_each_pair_of_a_group_once(groups: list[set[int]]) -> None:
    owner = [i for i, group in enumerate(groups) for _ in group]
    together, times = count_pairs(CSR.build(owner, [x for group in groups for x in group], len(groups)), 8)
    expected = Counter(pair for group in groups for pair in permutations(group, 2))
    rows, entries = together.pairs()
    found = dict(zip(zip(rows.tolist(), entries.tolist(), strict=True), times.tolist(), strict=True))
    assert found == dict(expected)


@given(st.lists(st.integers(0, BATCH + 5), max_size=4))
def test_an_arrow_file_has_equal_batches_whatever_it_is_given(tmp_path: Path, sizes: list[int]) -> None:
    writer = BatchWriter(tmp_path / "f.arrow", pa.schema([("x", pa.int64())]))
    start = 0
    for size in sizes:
        writer.write(pa.RecordBatch.from_pydict({"x": np.arange(start, start + size)}))
        start += size
    writer.close()
    file = ArrowFile(tmp_path / "f.arrow")
    assert writer.rows == len(file) == start
    assert file.column("x").tolist() == list(range(start))
    lengths = [len(chunk) for chunk in file.table.column("x").chunks]
    assert all(length == BATCH for length in lengths[:-1])
    rows = np.random.default_rng(0).integers(0, start, 50) if start else np.empty(0, np.int64)
    assert file.take("x", rows) == rows.tolist()
    assert file.take("x", rows[:3].tolist()) == rows[:3].tolist()


def test_array_of_unknown_length(tmp_path: Path) -> None:
    writer = NpyWriter(tmp_path / "a.npy", np.int32)
    writer.write(np.arange(5))
    writer.write(np.array([7]))
    writer.close()
    values = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert values.dtype == np.int32
    assert values.tolist() == [0, 1, 2, 3, 4, 7]


@given(PAIRS, st.integers(0, 2**32 - 1))
def test_marked_entries_are_kept_in_their_rows(pairs: list[tuple[int, int]], seed: int) -> None:
    csr = CSR.build([a for a, _ in pairs], [b for _, b in pairs], 10)
    marks = np.random.default_rng(seed).random(len(csr.indices)) < 0.5
    owner, entries = csr.pairs()
    expected = CSR.build(owner[marks], entries[marks], 10)
    kept = csr.keep(marks)
    np.testing.assert_array_equal(kept.indptr, expected.indptr)
    np.testing.assert_array_equal(kept.indices, expected.indices)
