"""Vectors that a frozen trunk has computed, by the tokens of their sentences.

A table measures many models with one trunk, which read mostly the same sentences of papers and manuscripts. The trunk
is most of what they cost, so it reads each sentence once.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cocite.text.token_lists import TokenLists

BYTES = 1 << 30
"""Of vectors that are kept: 700,000 sentences of 384 components."""


class SentenceMemory:
    """Computes the vector of each sentence once, as long as there is room.

    What no longer has room is computed each time; nothing that is kept is removed.

    Args:
        room: bytes of vectors that are kept at most.

    Example:
        >>> seen = []
        >>> def lengths(sentences):
        ...     seen.append(len(sentences))
        ...     return sentences.counts[:, None].astype(np.float32)
        >>> memory = SentenceMemory()
        >>> memory.vectors(TokenLists.of([[5, 6, 3], [7, 3], [5, 6, 3]]), lengths).tolist()
        [[3.0], [2.0], [3.0]]
        >>> memory.vectors(TokenLists.of([[7, 3], [8, 3]]), lengths).tolist(), seen
        ([[2.0], [2.0]], [2, 1])
    """

    def __init__(self, room: int = BYTES) -> None:
        self.room = room
        self._kept: dict[bytes, NDArray[np.float32]] = {}

    def vectors(
        self, sentences: TokenLists, compute: Callable[[TokenLists], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        """(n, t) vectors of n sentences.

        Args:
            sentences: their tokens.
            compute: gives the vectors of some of them.
        """
        if not len(sentences):
            return compute(sentences)
        keys = [sentences[i].tobytes() for i in range(len(sentences))]
        unknown = {key: i for i, key in enumerate(keys) if key not in self._kept}
        new: dict[bytes, NDArray[np.float32]] = {}
        if unknown:
            computed = compute(sentences.take(np.array(list(unknown.values()))))
            new = dict(zip(unknown, computed, strict=True))
            if computed.nbytes <= self.room:
                self.room -= computed.nbytes
                self._kept.update(new)
        found = ChainMap(new, self._kept)
        return np.stack([found[key] for key in keys])
