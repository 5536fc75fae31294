"""An even sample of the cited ids of a stream, so that those which turn out unknown can be named."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SIZE = 8192
"""Cited ids that are kept as text, at most."""


class SampledCitation(NamedTuple):
    """A citation of the sample.

    Example:
        >>> from cocite.corpus.citation_sample import SampledCitation
        >>> SampledCitation(citing="W1", cited="W9", file="works.jsonl", line=3).cited
        'W9'
    """

    citing: str
    cited: str
    file: str
    line: int


class CitationSample:
    """Keeps the first citation of each of the cited ids whose hashes are the smallest (a bottom sketch).

    The spilled links hold hashes alone, so an id that no paper has could not be named in the report. The ids with the
    smallest hashes are an even sample of all distinct ones, whatever their order, in bounded memory.

    Args:
        size: distinct ids that are kept, at most; after more than that, about half of them stay.

    Example:
        >>> from cocite.corpus.citation_sample import CitationSample, SampledCitation
        >>> sample = CitationSample(size=2)
        >>> for number in (40, 10, 30):
        ...     sample.add(number, SampledCitation("a", f"id {number}", "links.jsonl", number))
        >>> sample.pop(10).cited, sample.pop(40)
        ('id 10', None)
    """

    def __init__(self, size: int | None = None) -> None:
        self._size = SIZE if size is None else size
        self._below = 1 << 64
        self._citations: dict[int, SampledCitation] = {}

    def add(self, cited_hash: int, citation: SampledCitation) -> None:
        """Put a citation into the sample if its cited id belongs there and has none yet."""
        if not self.wants(cited_hash):
            return
        self._citations[cited_hash] = citation
        if len(self._citations) > self._size:
            self._below = sorted(self._citations)[self._size // 2]
            self._citations = {key: value for key, value in self._citations.items() if key < self._below}

    def wants(self, cited_hash: int) -> bool:
        """Whether :meth:`add` would keep a citation of this id."""
        return cited_hash < self._below and cited_hash not in self._citations

    def wanted(self, hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Positions of the hashes that :meth:`add` may keep, of equal ones the first, in their order."""
        small = np.flatnonzero(hashes < np.uint64(min(self._below, (1 << 64) - 1)))
        return small[np.sort(np.unique(hashes[small], return_index=True)[1])]

    def keys(self) -> NDArray[np.uint64]:
        """The hashes of the ids that it holds, ascending."""
        return np.array(sorted(self._citations), np.uint64)

    def pop(self, cited_hash: int) -> SampledCitation | None:
        """The citation of an id, which then leaves the sample; None for an id that is not in it."""
        return self._citations.pop(cited_hash, None)
