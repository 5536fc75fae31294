"""Puts abstracts together that are published as inverted indexes: word -> its positions.

Microsoft Academic Graph gave abstracts so, and what was made of it does still: OpenAlex and AMiner's citation network.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cocite.corpus.importers.values import FieldError

MAX_POSITION = 20_000
"""Words of the longest abstract put together."""


def abstract_of(index: Mapping[str, Any], field: str) -> str:
    """The text whose words and positions an inverted index gives.

    Args:
        index: word -> its positions, from 0; those from ``MAX_POSITION`` on are left out.
        field: name of the field that holds the index.

    Raises:
        FieldError: the positions of a word are not a list.

    Example:
        >>> from cocite.corpus.importers.inverted_abstract import abstract_of
        >>> abstract_of({"is": [1, 4], "Attention": [0], "all": [2], "there": [3]}, "abstract_inverted_index")
        'Attention is all there is'
    """
    words: list[tuple[int, str]] = []
    for word, positions in index.items():
        if not isinstance(positions, list):
            raise FieldError(field, "lists of positions", positions)
        words.extend((at, word) for at in positions if isinstance(at, int) and 0 <= at < MAX_POSITION)
    return " ".join(word for _, word in sorted(words))
