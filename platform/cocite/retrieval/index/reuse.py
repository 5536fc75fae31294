"""An index in memory that takes what it can from an index folder of the same corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import Encoder, Query
from cocite.retrieval.index.documents import Advance, ignore_progress
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.opening import SavedIndex
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot


@overload
def index_of(
    corpus: Corpus,
    history: History,
    encoders: Sequence[Encoder] = ...,
    *,
    saved: IndexSnapshot | None = ...,
    advance: Advance = ...,
) -> Index: ...
@overload
def index_of(
    corpus: Corpus,
    history: History,
    encoders: Sequence[Encoder] = ...,
    *,
    saved: SavedIndex | None = ...,
    advance: Advance = ...,
) -> Index | ShardedIndex: ...
def index_of(
    corpus: Corpus,
    history: History,
    encoders: Sequence[Encoder] = (),
    *,
    saved: SavedIndex | None = None,
    advance: Advance = ignore_progress,
) -> Index | ShardedIndex:
    """An index of a corpus under a history, with the vectors of some encoders.

    Args:
        corpus: the papers.
        history: what is known.
        encoders: whose vectors are wanted; those that the saved index holds are not made again.
        saved: an index of the same corpus whose history holds this one; without it all is made anew.
        advance: receives the number of texts and vectors done since its last call.

    Raises:
        InputError: the saved index is of another corpus, lacks papers, or knows less than the history.
    """
    if saved is None:
        return Index.build(corpus, history, encoders=encoders, advance=advance)
    _check(corpus, history, saved)
    papers = _read_papers(corpus, saved)
    index: Index | ShardedIndex = replace(saved, corpus=papers).with_history(History(papers, history.citing))
    for encoder in encoders:
        if index.encoder_ids.get(encoder.name) != encoder.id:
            index = index.with_vectors(encoder, advance=advance)
    return index


def whole_index_of(
    corpus: Corpus,
    history: History,
    encoders: Sequence[Encoder] = (),
    *,
    saved: SavedIndex | None = None,
    advance: Advance = ignore_progress,
) -> Index:
    """As :func:`index_of`, for what scores all papers at once: of an index in shards a whole one is made in memory.

    It takes the vectors, k1 and b of the shards; words are counted anew.

    Raises:
        InputError: as :func:`index_of`.
    """
    if not isinstance(saved, ShardedIndex):
        return index_of(corpus, history, encoders, saved=saved, advance=advance)
    _check(corpus, history, saved)
    rows = np.arange(len(corpus), dtype=np.int32)
    known: list[Encoder] = [
        EncodedPapers(encoder.name, encoder.id, saved.paper_vectors(encoder.name)[rows])
        if saved.encoder_ids.get(encoder.name) == encoder.id
        else encoder
        for encoder in encoders
    ]
    return Index.build(corpus, history, encoders=known, bm25=saved.bm25, advance=advance)


@dataclass(frozen=True)
class EncodedPapers:
    """Stands for an encoder whose vectors of all papers are there already; it reads no queries.

    Attributes:
        name, id: of the encoder.
        vectors: (N, d).

    Example:
        >>> EncodedPapers("nnselect", "1f2e", np.zeros((7, 4), np.float32)).dimension
        4
    """

    name: str
    id: str
    vectors: NDArray[np.float32]

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.vectors.shape[1])

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:  # noqa: ARG002
        """(n, d) the vectors of some papers."""
        return self.vectors[rows]

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """Refuse: queries are read by the encoder itself."""
        raise NotImplementedError(f"{self.name} itself encodes queries")


def saved_vectors(corpus: Corpus, history: History, encoder: Encoder, saved: SavedIndex) -> SavedIndex:
    """A saved index whose vectors alone are searched, as :func:`index_of` searches them; nothing is made.

    Args:
        corpus: the papers.
        history: what is known, which no vector depends on.
        encoder: whose vectors are searched.
        saved: an index of the same corpus that holds them, and whose history holds this one.

    Raises:
        InputError: as :func:`index_of`; or the index does not hold the vectors.
    """
    _check(corpus, history, saved)
    saved.check_encoder(encoder)
    return replace(saved, corpus=_read_papers(corpus, saved))


def _read_papers(corpus: Corpus, saved: SavedIndex) -> Corpus:
    """The papers of a saved index; it may have left out their bodies, which an encoder may read."""
    return saved.corpus if saved.corpus.has_bodies else corpus


def _check(corpus: Corpus, history: History, saved: SavedIndex) -> None:
    """Refuse a saved index of another corpus, or one that lacks papers or links."""
    where = str(saved.path)
    if saved.corpus.version != corpus.version:
        raise InputError(
            f"is an index of corpus {saved.corpus.version}, not of {corpus.version}",
            where=where,
            hint="leave it out, or build one of this corpus",
        )
    if not saved.alive.all():
        raise InputError(
            "papers were removed from this index", where=where, hint="build one of the whole corpus"
        )
    if (history.citing & ~saved.history.citing).any():
        raise InputError(
            "knows less of who cites whom than is wanted here",
            where=where,
            hint="build it without --known-until and --before-split, or with a later year or split",
        )
