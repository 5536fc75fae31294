"""How the papers of an index are divided among shards: into contiguous ranges of rows."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cocite.errors import InputError
from cocite.retrieval.index.collection import Collection

PAPERS = 2_500_000
"""Papers of a shard where no number of shards is given; up to so many an index has no shards."""


class ShardRange(NamedTuple):
    """The papers ``first : last``, and the known contexts ``first_context : last_context`` in them.

    Example:
        >>> ShardRange(0, 100, 0, 380).papers
        100
    """

    first: int
    last: int
    first_context: int
    last_context: int

    @property
    def papers(self) -> int:
        """How many papers there are."""
        return self.last - self.first

    @property
    def contexts(self) -> int:
        """How many known contexts there are."""
        return self.last_context - self.first_context


def choose_count(papers: int, largest: int = PAPERS) -> int:
    """The number of shards where none is asked for, of at most so many papers each.

    Example:
        >>> [choose_count(papers) for papers in (20_000, 2_500_001, 10_000_000)]
        [1, 2, 4]
        >>> choose_count(1_000_000, largest=300_000)
        4
    """
    return max(1, -(-papers // largest))


def divide(collection: Collection, count: int) -> list[ShardRange]:
    """Divide the papers evenly among shards.

    Raises:
        InputError: there are more shards than papers.
    """
    papers = len(collection)
    if count > max(papers, 1):
        raise InputError(f"{count} shards are more than the {papers} papers", hint="give a smaller --shards")
    ends = np.linspace(0, papers, count + 1).astype(np.int64)
    known, owners = collection.history.citing, collection.corpus.context_citing
    # Of one shard at a time: a list of all known contexts would be the largest array of a build.
    bounds = np.searchsorted(owners, ends.astype(owners.dtype))
    counts = [int(known[owners[a:b]].sum()) for a, b in pairwise(bounds.tolist())]
    contexts = np.cumsum([0, *counts])
    return [
        ShardRange(*map(int, ends_of))
        for ends_of in zip(ends[:-1], ends[1:], contexts[:-1], contexts[1:], strict=True)
    ]
