from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus import idtable
from cocite.corpus.idtable import HashSet, IdTable
from cocite.errors import InputError


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
