"""Which paper each citation context is of, and which papers it cites."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus


@dataclass(frozen=True)
class ContextLinks:
    """The links of a corpus' C contexts, by their positions in the store.

    Attributes:
        citing: (C,) int32 the paper that each is of.
        cited: the papers that each cites.

    Example:
        >>> links = ContextLinks(np.array([7, 7, 9], np.int32), CSR.build(rows=[0, 0, 2], entries=[3, 4, 3], count=3))
        >>> links.citing[0], links.cited[0]
        (np.int32(7), array([3, 4], dtype=int32))
    """

    citing: NDArray[np.int32]
    cited: CSR

    @classmethod
    def of(cls, corpus: Corpus) -> ContextLinks:
        """Those of a store, read into memory: 4 bytes a citation, and 12 a context."""
        return cls(corpus.context_citing, corpus.context_cited)
