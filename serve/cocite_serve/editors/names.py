"""The papers of authors by the beginning of a name, as a draft's author remembers a paper."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.corpus.title_forms import normal_titles

MAX_PAPERS = 300_000
"""Papers of a corpus whose names are kept in memory; in a larger one nobody is found by name."""


class AuthorNames:
    """Finds papers by a word that begins a part of an author's name.

    Args:
        corpus: whose papers are found.
        alive: (N,) whether a paper may be recommended.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> names = AuthorNames(corpus, np.ones(len(corpus), bool))
        >>> corpus.ids(names.rows("papin", 3))
        ['papineni2002bleu']
    """

    def __init__(self, corpus: Corpus, alive: NDArray[np.bool_]) -> None:
        self._corpus, self._alive = corpus, alive

    def rows(self, word: str, k: int) -> list[int]:
        """The rows of at most ``k`` papers, those first that more papers of the corpus cite.

        Args:
            word: in lower case, without accents, of letters alone.
        """
        if len(self._corpus) > MAX_PAPERS or not word.isalpha():
            return []
        names, owners = self._names
        # Each name begins with a space, so that a part of a name begins behind one.
        hits = pc.match_substring(names, f" {word}").to_numpy(zero_copy_only=False)
        rows = np.unique(owners[hits])
        rows = rows[self._alive[rows]]
        indptr = self._corpus.cited_by.indptr
        cited = indptr[rows + 1] - indptr[rows]
        return [int(row) for row in rows[np.argsort(-cited, kind="stable")][:k]]

    @cached_property
    def _names(self) -> tuple[Any, NDArray[np.int64]]:
        """All names in lower case without accents, and the row of the paper of each."""
        column = self._corpus.papers.table.column("authors")
        counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
        owners = np.repeat(np.arange(len(counts)), counts)
        flat = normal_titles(pc.list_flatten(column))
        return pc.binary_join_element_wise("", flat, " "), owners
