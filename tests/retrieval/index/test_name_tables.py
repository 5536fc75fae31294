"""Tables of names: against dictionaries made name by name, whatever the names are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.retrieval.index.name_tables import SPACE, NameTable, NameTables, name_hashes

KINDS = ("authors", "surnames", "venues")
names = st.text(st.sampled_from("aBzÉİΣß \t\x1c\x1f\x85\u3000."), max_size=6) | st.sampled_from(
    ["Ada Lovelace", " ada  lovelace", "Li", "ΟΔΥΣΣΕΥΣ", "van der Berg", "X\x1cYang"]
)


class Papers:
    """What the tables read of a corpus: Arrow columns in chunks, which may hold nulls."""

    def __init__(self, authors: list[list[str | None] | None], venues: list[str | None], cut: int) -> None:
        def column(values: list, kind: pa.DataType) -> pa.ChunkedArray:
            return pa.chunked_array([pa.array(values[:cut], kind), pa.array(values[cut:], kind)])

        columns = {"authors": column(authors, pa.list_(pa.string())), "venue": column(venues, pa.string())}
        self.papers = self
        self.table = pa.table(columns)

    def __len__(self) -> int:
        return self.table.num_rows


def transcribed(
    authors: list[list[str | None] | None], venues: list[str | None]
) -> dict[str, dict[str, list]]:
    """The papers of each name of each kind."""
    found: dict[str, dict[str, set[int]]] = {kind: {} for kind in KINDS}
    for row, (own, venue) in enumerate(zip(authors, venues, strict=True)):
        for author in own or ():
            name = (author or "").strip().lower()
            if name:
                found["authors"].setdefault(name, set()).add(row)
                if len(name.split()[-1]) > 2:
                    found["surnames"].setdefault(name.split()[-1], set()).add(row)
        if venue:
            found["venues"].setdefault(venue, set()).add(row)
    return {kind: {name: sorted(rows) for name, rows in of.items()} for kind, of in found.items()}


@given(st.lists(st.tuples(st.none() | st.lists(names | st.none(), max_size=4), names | st.none())), st.data())
def test_tables_are_those_made_name_by_name(papers: list[tuple], data: st.DataObject) -> None:
    authors, venues = [own for own, _ in papers], [venue for _, venue in papers]
    cut = data.draw(st.integers(0, len(papers)))
    tables = NameTables(Papers(authors, venues, cut))
    first = NameTables(Papers(authors[:cut], venues[:cut], 0))
    grown = NameTables(Papers(authors, venues, cut), first)
    for kind, expected in transcribed(authors, venues).items():
        table, other = getattr(tables, kind), getattr(grown, kind)
        numbers = table.find(list(expected))
        assert {name: table.papers[n].tolist() for name, n in zip(expected, numbers, strict=True)} == expected
        assert sorted(numbers.tolist()) == list(range(len(table.hashes)))
        assert table.find(["", "no such name"]).tolist() == [-1, -1]
        for one, two in zip(arrays(table), arrays(other), strict=True):
            assert one.dtype == two.dtype
            assert one.tolist() == two.tolist(), "a table that grew is the table made anew"


def arrays(table: NameTable) -> tuple[np.ndarray, ...]:
    return table.hashes, table.papers.indptr, table.papers.indices


def test_white_space_is_that_of_python() -> None:
    assert sorted(SPACE) == [chr(i) for i in range(128) if chr(i).isspace()]


def test_hashes_are_the_published_ones() -> None:
    """The test vectors of FNV's authors; half a surrogate pair has a hash, too."""
    expected = [0xAF63DC4C8601EC8C, 0x85944171F73967E8, 0]
    assert name_hashes(["a", "foobar", ""]).tolist() == expected
    assert len(set(name_hashes(["\ud800", "é", "e"]).tolist())) == 3


def test_a_saved_table_is_mapped(corpus: Corpus, tmp_path: Path) -> None:
    made = NameTables(corpus)
    made.save(tmp_path / "names")
    opened = NameTables.open(tmp_path / "names", corpus)
    for kind in KINDS:
        for one, two in zip(arrays(getattr(made, kind)), arrays(getattr(opened, kind)), strict=True):
            assert (one == two).all()
            assert not two.flags.writeable


def test_tables_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    store = build([PaperRecord("a", "Title", "", 2000, venue="V", authors=("Bo Yang",))], tmp_path / "store")
    NameTables(store).save(tmp_path / "names")
    np.save(tmp_path / "names" / "authors.hashes.npy", np.zeros(5, np.uint64))
    with pytest.raises(IntegrityError, match="authors do not fit together"):
        NameTables.open(tmp_path / "names", store)
    (tmp_path / "names" / "authors.hashes.npy").unlink()
    with pytest.raises(IntegrityError, match="not a readable array"):
        NameTables.open(tmp_path / "names", store)
