"""Whether an index is the one that an evaluation needs, where another cannot be made of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.protocols import Encoder
from cocite.retrieval.index.search_index import SearchIndex


def require_same(index: SearchIndex, corpus: Corpus, history: History, encoders: Sequence[Encoder]) -> None:
    """Refuse an index of another corpus or history, or without the vectors of some encoders.

    An index in this process can be rewound to an earlier history, and takes further vectors; the shards of one that is
    searched elsewhere stay as they were built.

    Raises:
        InputError: says what is not the same, and how to build one that fits.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> corpus = starter_corpus()
        >>> index = Index.build(corpus, History.all(corpus))
        >>> require_same(index, corpus, History.all(corpus), [])
        >>> require_same(index, corpus, History.until(corpus, 2010), [])
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: the index: knows other links than this evaluation does (build it with ...)
    """
    if index.corpus.version != corpus.version:
        raise InputError(
            f"is of corpus {index.corpus.version}, not of {corpus.version}",
            where="the index",
            hint="build one of this corpus",
        )
    if not index.alive.all():
        raise InputError("lacks papers that were removed", where="the index", hint="build it again")
    if not np.array_equal(index.history.citing, history.citing):
        raise InputError(
            "knows other links than this evaluation does",
            where="the index",
            hint="build it with --before-split SPLIT, or leave out --on ray",
        )
    for encoder in encoders:
        index.check_encoder(encoder)
