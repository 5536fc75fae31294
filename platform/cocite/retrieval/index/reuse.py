"""An index in memory that takes what it can from an index folder of the same corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import Encoder
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
    # The index may have left out the bodies, which an encoder whose vectors are made here may read.
    papers = saved.corpus if saved.corpus.has_bodies else corpus
    index: Index | ShardedIndex = replace(saved, corpus=papers).with_history(History(papers, history.citing))
    for encoder in encoders:
        if index.encoder_ids.get(encoder.name) != encoder.id:
            index = index.with_vectors(encoder, advance=advance)
    return index
