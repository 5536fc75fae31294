"""The papers of an index snapshot by id and by row, for responses and BibTeX."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.paper_ids import rows_of_ids
from cocite.errors import NotFoundError
from cocite.retrieval.index.versions import VersionedFolder, VersionLock
from cocite.verification import open_verified_once

_LISTS = 16
"""Lists of ids whose rows are kept: each gap of a draft and each page of an answer asks for the same ones."""


class Papers:
    """Papers of one index snapshot; removed ones are not found.

    Args:
        corpus: the snapshot's store.
        alive: (N,) whether a paper may be recommended.
        lock: keeps the snapshot from being deleted.
        created: when the snapshot was made, in ISO 8601; None: not known.
        citing: (N,) whether a paper's links are known; None: all are.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.snapshot import IndexSnapshot
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = IndexSnapshot.create(starter_corpus(), folder)
        ...     papers = Papers.open(Path(folder), "000001")
        ...     rows = papers.rows(["devlin2019bert", "no-such-paper"])
        ...     print(len(papers), papers.years, rows, papers.in_citations(rows[:1]))
        423 (1960, 2023) [291  -1] [112]
    """

    def __init__(
        self,
        corpus: Corpus,
        alive: NDArray[np.bool_],
        lock: VersionLock | None = None,
        created: str | None = None,
        citing: NDArray[np.bool_] | None = None,
    ) -> None:
        self.corpus = corpus
        self.alive = alive
        self.created = created
        self._lock, self._citing = lock, citing
        # Of the corpus and not of self: a circle would keep the lock until it is collected.
        self._look_up = lru_cache(_LISTS)(partial(_rows_of, corpus))

    @classmethod
    def open(cls, index: Path, version: str) -> Papers:
        """The papers of one snapshot, memory-mapped; the version stays while this object lives."""
        name, lock = VersionedFolder(index).lock(version)
        folder = VersionedFolder(index).folder(name)
        created = open_verified_once(folder, kind="index").meta.get("created")
        corpus = Corpus.open(folder / "corpus", verified=True)
        alive, citing = load_array(folder / "alive.npy"), load_array(folder / "history.npy")
        return cls(corpus, alive, lock, created, citing)

    def __len__(self) -> int:
        return int(self.alive.sum())

    @cached_property
    def years(self) -> tuple[int, int] | None:
        """The first and the last year of a paper, None when no year is known."""
        years = self.corpus.years[self.alive & (self.corpus.years > 0)]
        return (int(years.min()), int(years.max())) if len(years) else None

    @cached_property
    def history(self) -> History:
        """Whose links are known."""
        return History.all(self.corpus) if self._citing is None else History(self.corpus, self._citing)

    def rows(self, ids: Sequence[str]) -> NDArray[np.int32]:
        """Rows of some ids, -1 for one that is unknown or removed."""
        return self._alive(self.corpus.find(ids))

    def named(self, ids: Sequence[str]) -> NDArray[np.int32]:
        """Rows of papers by ids, DOIs, or arXiv, ACL, S2 or OpenAlex ids; -1 for one that is unknown or removed.

        The first look at DOIs hashes those of all papers, which takes a while on millions.
        """
        return self._alive(self._look_up(tuple(ids)))

    def _alive(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.where((rows >= 0) & self.alive[rows], rows, -1).astype(np.int32)

    def records(self, ids: Sequence[str]) -> list[PaperRecord]:
        """The papers of some ids; raises NotFoundError for the first that is not there."""
        rows = self.rows(ids)
        if (rows < 0).any():
            raise NotFoundError(f"no paper has the id {ids[int(np.argmax(rows < 0))]!r}", where="id")
        return self.corpus.papers_at(rows)

    def in_citations(self, rows: Sequence[int] | NDArray[np.int32]) -> list[int]:
        """The number of papers of the corpus that cite each row."""
        indptr = self.corpus.cited_by.indptr
        cited = np.asarray(rows, np.int64)
        return [int(count) for count in indptr[cited + 1] - indptr[cited]]


def _rows_of(corpus: Corpus, ids: tuple[str, ...]) -> NDArray[np.int32]:
    return rows_of_ids(ids, corpus, scan=False)
