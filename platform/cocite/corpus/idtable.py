"""Finds the row of an id among millions, in sixteen bytes an id."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import id_hash
from cocite.errors import InputError

ENTRY = np.dtype([("hash", "<u8"), ("row", "<i4")])
"""An entry of ``ids.npy``."""
MAX_RUN = 1 << 21
"""Hashes of a run of a :class:`HashSet` that is merged no more: merging takes three times its memory."""


class IdTable:
    """Ids by their 64-bit hash, in sorted runs that are merged as they grow.

    An id costs 16 bytes: its hash, its row, and a checksum by an unrelated function that distinguishes a repeated id
    from two ids with one hash. The latter is refused; among 10^8 ids it is expected once in 3,700 corpora.

    Example:
        >>> from cocite.corpus.idtable import IdTable
        >>> table = IdTable()
        >>> table.add(["b", "a", "b"]).tolist()  # the second b is not new
        [True, True, False]
        >>> table.find(IdTable.hashes(["a", "z"])).tolist()
        [1, -1]
    """

    def __init__(self) -> None:
        self._runs: list[tuple[NDArray[np.uint64], NDArray[np.int32]]] = []
        self._checks = array("I")

    @classmethod
    def of(cls, hashes: NDArray[np.uint64], rows: NDArray[np.int32]) -> IdTable:
        """A table of ids that is only searched, of what :meth:`arrays` gave."""
        table = cls()
        if len(hashes):
            table._runs.append((hashes, rows))
        return table

    def __len__(self) -> int:
        return len(self._checks)

    @staticmethod
    def hashes(ids: Sequence[str]) -> NDArray[np.uint64]:
        """The hashes of some ids."""
        return np.fromiter((id_hash(text) for text in ids), np.uint64, len(ids))

    @staticmethod
    def checks(ids: Sequence[str]) -> NDArray[np.uint32]:
        """Second checksums: they find two ids of one 64-bit hash, which would become one paper."""
        return np.fromiter((zlib.crc32(text.encode()) for text in ids), np.uint32, len(ids))

    def add(self, ids: Sequence[str]) -> NDArray[np.bool_]:
        """Give the next rows to the ids that are new; returns (len(ids),) whether each was new."""
        return self.add_hashed(self.hashes(ids), self.checks(ids), lambda: ids)

    def add_hashed(
        self, hashes: NDArray[np.uint64], checks: NDArray[np.uint32], ids: Callable[[], Sequence[str]]
    ) -> NDArray[np.bool_]:
        """Do the same as :meth:`add` for ids whose hashes are there.

        Args:
            hashes: (n,) of the ids.
            checks: (n,) of the ids.
            ids: gives the n ids, to name one in an error.

        Raises:
            InputError: an id has the hash of another.
        """
        _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        rows = self.find(hashes)
        is_known = rows >= 0
        clash = checks[first][inverse] != checks
        if is_known.any():
            clash[is_known] = np.frombuffer(self._checks, np.uint32)[rows[is_known]] != checks[is_known]
        if clash.any():
            name = ids()[int(np.flatnonzero(clash)[0])]
            raise InputError(
                f"the id {name!r} has the same 64-bit hash as another", hint="rename one of them"
            )
        new = ~is_known & (first[inverse] == np.arange(len(hashes)))
        taken = np.arange(len(self), len(self) + int(new.sum()), dtype=np.int32)
        self._checks.frombytes(checks[new].tobytes())
        if len(taken):
            order = np.argsort(hashes[new], kind="stable")
            self._runs.append((hashes[new][order], taken[order]))
        # Each run is more than twice as long as the next: few runs to search, and an id is merged few times.
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            self._merge()
        return np.asarray(new)

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Rows of some hashes, -1 for an unknown one."""
        rows = np.full(len(hashes), -1, np.int32)
        for known, taken in self._runs:
            at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            is_here = known[at] == hashes
            rows[is_here] = taken[at[is_here]]
        return rows

    def compact(self) -> None:
        """Merge all runs into one, which makes :meth:`find` quickest."""
        while len(self._runs) > 1:
            self._merge()

    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """All hashes, ascending, and their rows."""
        self.compact()
        return self._runs[0] if self._runs else (np.empty(0, np.uint64), np.empty(0, np.int32))

    def entries(self) -> NDArray[np.void]:
        """All (hash, row) entries, sorted by hash."""
        entries = np.empty(len(self), ENTRY)
        entries["hash"], entries["row"] = self.arrays()
        return entries

    def _merge(self) -> None:
        (right, right_rows), (left, left_rows) = self._runs.pop(), self._runs.pop()
        hashes = np.concatenate([left, right])
        order = np.argsort(hashes, kind="stable")
        self._runs.append((hashes[order], np.concatenate([left_rows, right_rows])[order]))


class HashSet:
    """A growing set of 64-bit hashes at eight bytes each, such as those of the contexts' ids.

    Example:
        >>> import numpy as np
        >>> from cocite.corpus.idtable import HashSet
        >>> hashes = HashSet()
        >>> hashes.add(np.array([7, 9, 7], np.uint64)).tolist(), hashes.add(np.array([9], np.uint64)).tolist()
        ([True, True, False], [False])
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def add(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Put hashes in; returns whether each was new, which of equal ones the first is."""
        _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        new = first[inverse] == np.arange(len(hashes))
        for run in self._runs:
            at = np.minimum(np.searchsorted(run, hashes), len(run) - 1)
            new &= run[at] != hashes
        if new.any():
            self._runs.append(np.sort(hashes[new]))
        while len(self._runs) > 1 and len(self._runs[-2]) <= min(2 * len(self._runs[-1]), MAX_RUN):
            right, left = self._runs.pop(), self._runs.pop()
            # The stable sort recognises the two sorted halves, and merges them in linear time.
            self._runs.append(np.sort(np.concatenate([left, right]), kind="stable"))
        return np.asarray(new)
