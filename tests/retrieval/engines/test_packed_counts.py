"""Packed word counts: what is read is what was packed, whatever the counts and the vocabulary."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cocite.retrieval.engines import packed_counts
from cocite.retrieval.engines.packed_counts import CountsWriter, FieldCounts, PackedCounts, save_counts

shapes = hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)
counts = hnp.arrays(np.int32, shapes, elements=st.sampled_from([0, 0, 1, 2, 22, 23, 255, 256, 70_000]))


def two_fields(data: st.DataObject) -> tuple[np.ndarray, np.ndarray]:
    """Two fields of the same documents; the inner one may have words that the outer one lacks."""
    outer = data.draw(counts)
    inner = data.draw(hnp.arrays(np.int32, outer.shape, elements=st.sampled_from([0, 0, 1, 2, 3, 22, 300])))
    return outer, np.minimum(outer, inner) if data.draw(st.booleans()) else inner


@given(st.data(), st.integers(1, 4))
def test_both_fields_come_back(data: st.DataObject, block: int) -> None:
    dense = two_fields(data)
    rows = np.array(data.draw(st.lists(st.integers(0, len(dense[0]) - 1), max_size=5)), np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_counts, "BLOCK", block)
        packed = PackedCounts.of([tuple(map(sp.csr_matrix, dense))], dense[0].shape[1])
        for field, expected in zip((packed.outer, packed.inner), dense, strict=True):
            np.testing.assert_array_equal(field.matrix().toarray(), expected)
            np.testing.assert_array_equal(field.rows(rows).toarray(), expected[rows])
            np.testing.assert_array_equal(field.take(rows).matrix().toarray(), expected[rows])
            np.testing.assert_array_equal(sp.vstack(list(field.blocks())).toarray(), expected)
            np.testing.assert_array_equal(field.lengths, expected.sum(axis=1))
            np.testing.assert_array_equal(field.holding(), (expected > 0).sum(axis=0))
            np.testing.assert_array_equal(np.diff(field.indptr()), (expected > 0).sum(axis=1))
            assert field.matrix().has_canonical_format
        assert packed.equals(packed.take(np.arange(len(dense[0]))))
        kept = tuple(sp.csr_matrix(field[rows]) for field in dense)
        assert packed.take(rows).equals(PackedCounts.of([kept], dense[0].shape[1]))
    assert packed.entries.dtype == np.uint32
    assert len(packed.entries) == ((dense[0] > 0) | (dense[1] > 0)).sum()


@given(counts, st.data())
def test_documents_join_and_change(dense: np.ndarray, data: st.DataObject) -> None:
    wider = dense.shape[1] + 1
    new = data.draw(hnp.arrays(np.int32, (2, wider), elements=st.sampled_from([0, 1, 300])))
    packed = FieldCounts.of(sp.csr_matrix(dense)).followed_by(sp.csr_matrix(new))
    expected = np.concatenate([np.pad(dense, ((0, 0), (0, 1))), new])
    np.testing.assert_array_equal(packed.matrix().toarray(), expected)
    documents = np.array(sorted(data.draw(st.sets(st.integers(0, len(expected))))), np.int64)
    change = data.draw(hnp.arrays(np.int32, (len(documents), wider), elements=st.integers(0, 30)))
    expected = np.pad(expected, ((0, 1), (0, 0)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_counts, "BLOCK", 2)
        changed = packed.changed(documents, sp.csr_matrix(change), len(expected))
        back = changed.changed(documents, sp.csr_matrix(-change), len(expected))
    np.testing.assert_array_equal(back.matrix().toarray(), expected)
    expected[documents] += change
    np.testing.assert_array_equal(changed.matrix().toarray(), expected)
    assert changed.packed.equals(FieldCounts.of(sp.csr_matrix(expected)).packed)


def test_words_in_no_order_are_packed_in_ascending_order() -> None:
    unsorted = sp.csr_matrix((np.array([1, 2, 3]), np.array([4, 0, 4]), np.array([0, 3])), (1, 5))
    assert FieldCounts.of(unsorted).packed.entries.tolist() == [0 << 8 | 2, 4 << 8 | 9]
    assert unsorted.indices.tolist() == [4, 0, 4]


@given(counts, st.data())
def test_groups_are_added_up(dense: np.ndarray, data: st.DataObject) -> None:
    members = data.draw(hnp.arrays(np.int32, (3, len(dense)), elements=st.integers(0, 2)))
    sums = FieldCounts.of(sp.csr_matrix(dense)).sums(sp.csr_matrix(members))
    np.testing.assert_array_equal(sums.toarray(), members @ dense)
    assert sums.has_sorted_indices


def test_a_vocabulary_of_more_than_24_bits_takes_wider_entries(tmp_path: Path) -> None:
    words = packed_counts.SHORT
    for more, bits in ((0, np.uint32), (1, np.uint64)):
        matrix = sp.csr_matrix(([3, 400], ([0, 1], [0, words + more - 1])), (2, words + more), np.int32)
        packed = PackedCounts.of([(matrix, None)], words + more)
        assert packed.entries.dtype == bits
        assert (packed.outer.matrix() != matrix).nnz == 0
        (tmp_path / str(more)).mkdir()
        save_counts(tmp_path / str(more), packed.outer)
        assert PackedCounts.load(tmp_path / str(more), matrix.shape).entries.dtype == bits
    later = sp.csr_matrix(([7], ([0], [words])), (1, words + 1), np.int32)
    grown = FieldCounts.of(sp.csr_matrix(([2], ([0], [5])), (1, words), np.int32)).followed_by(later)
    assert grown.packed.entries.tolist() == [5 << 8 | 2, words << 8 | 27]


@given(st.data())
def test_files_of_joined_fields_are_those_of_fields_packed_together(data: st.DataObject) -> None:
    outer, inner = map(sp.csr_matrix, two_fields(data))
    with tempfile.TemporaryDirectory() as root:
        alone, together = Path(root, "alone"), Path(root, "together")
        alone.mkdir()
        together.mkdir()
        save_counts(alone, FieldCounts.of(outer), FieldCounts.of(inner))
        with CountsWriter(together, outer.shape[1]) as writer:
            writer.add(outer, inner)
        loaded = PackedCounts.load(alone, outer.shape)
        again = Path(root, "again")
        again.mkdir()
        rows = np.arange(outer.shape[0])
        save_counts(again, loaded.outer.take(rows), loaded.inner.take(rows))
        for path in alone.iterdir():
            assert (
                path.read_bytes() == (together / path.name).read_bytes() == (again / path.name).read_bytes()
            )
        assert (loaded.inner.matrix() != inner).nnz == 0
        assert not loaded.entries.flags.writeable


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    save_counts(tmp_path, FieldCounts.of(sp.csr_matrix(np.array([[1, 2], [0, 300]]))))
    with pytest.raises(ValueError, match="3 entries of 2 documents, where 3 belong"):
        PackedCounts.load(tmp_path, (3, 2))
    np.save(tmp_path / "counts.entries.npy", np.zeros(2, np.uint32))
    with pytest.raises(ValueError, match="2 entries of 2 documents"):
        PackedCounts.load(tmp_path, (2, 2))
    np.save(tmp_path / "counts.entries.npy", np.zeros(3, np.int64))
    with pytest.raises(ValueError, match="word counts of the types"):
        PackedCounts.load(tmp_path, (2, 2))
