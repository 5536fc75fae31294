"""From which rarity of its words on a text is unlike a collection.

The limit is that of an outlier among the collection's own texts, each weighed as if the collection lacked its paper: a
modified z-score above 3.5 (B. Iglewicz and D. Hoaglin, How to Detect and Handle Outliers, 1993), so 3.5 robust standard
deviations above the median. A quantile will not do, for the rarest texts of a collection are damaged ones and ones in
other languages. Short texts vary more than long ones, and contexts have fewer rare words than titles and abstracts, so
there is a limit for each length and kind of query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from cocite.config import Settings
from cocite.retrieval.engines.word_rarity import WordRarity

LENGTHS = (4, 8, 16, 32, 64, 128, 256)
"""Numbers of words for which a limit is fitted; a mean over fewer words says little."""
LEAST_TEXTS = 50
"""Texts that a limit is fitted to, at least."""
Z_SCORE = 3.5
NORMAL_MAD = 0.6745
"""Median absolute deviation of a normal distribution, in standard deviations."""
Kind = Literal["local", "global"]
Limit = Annotated[float, Field(ge=0, le=100)]


class Limits(Settings):
    """The greatest rarity of texts of one kind, by their length.

    Example:
        >>> limits = Limits(lengths=(4, 16), rarities=(8.0, 6.0))
        >>> [limits.at(words) for words in (3, 4, 8, 500)]
        [inf, 8.0, 7.0, 6.0]
    """

    lengths: Annotated[
        tuple[Annotated[int, Field(ge=1, le=100_000)], ...], Field(min_length=1, max_length=100)
    ]
    """Numbers of words, rising."""
    rarities: Annotated[tuple[Limit, ...], Field(min_length=1, max_length=100)]
    """The limit at each of them; between two it is interpolated over the logarithm of the length."""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if len(self.lengths) != len(self.rarities):
            raise ValueError(f"{len(self.lengths)} lengths have {len(self.rarities)} limits")
        if np.any(np.diff(self.lengths) <= 0):
            raise ValueError("the lengths do not rise")
        return self

    def at(self, words: int) -> float:
        """The limit of a text of so many words; infinite for one that is too short to be judged."""
        if words < self.lengths[0]:
            return np.inf
        return float(np.interp(np.log(words), np.log(self.lengths), self.rarities))

    @classmethod
    def fit(cls, texts: Sequence[NDArray[np.float64]]) -> Limits | None:
        """The limits of some texts, each cut to every length that it has.

        Args:
            texts: of each, the rarities of its words in their order.

        Returns:
            None where too few texts have the least length.
        """
        fitted: dict[int, float] = {}
        for length in LENGTHS:
            means = np.array([rarities[:length].mean() for rarities in texts if len(rarities) >= length])
            if len(means) < LEAST_TEXTS:
                break
            median = np.median(means)
            deviation = np.median(np.abs(means - median)) / NORMAL_MAD
            fitted[length] = float(median + Z_SCORE * deviation)
        if not fitted:
            return None
        # Long texts vary less than short ones. Where they seem to vary more, many of them are damaged.
        falling = np.minimum.accumulate(list(fitted.values()))
        return cls(lengths=tuple(fitted), rarities=tuple(falling.round(4).tolist()))


class DomainLimits(Settings):
    """The limits of each kind of query.

    Example:
        >>> from cocite.retrieval.engines.bm25 import Bm25Index
        >>> papers = Bm25Index.build(["parsing with trees", "parsing with charts", "neural parsing"])
        >>> rarity = WordRarity(papers, Bm25Index.build([]), (3, 0))
        >>> limits = DomainLimits(documents=(3, 0), kinds={"global": Limits(lengths=(2,), rarities=(0.9,))})
        >>> [limits.is_unlike(rarity, text, "global") for text in ("parsing trees", "genes of trees", "gene")]
        [False, True, True]
    """

    documents: tuple[Annotated[int, Field(ge=0, le=10**12)], Annotated[int, Field(ge=0, le=10**12)]]
    """Papers and contexts that the idf of words was computed of."""
    kinds: Annotated[dict[Kind, Limits], Field(min_length=1, max_length=2)]
    """``local``: of contexts, with title and abstract behind them; ``global``: of titles with abstracts. Queries of a
    kind that is not there have the limits of the other."""

    def is_unlike(self, rarity: WordRarity, text: str, kind: Kind) -> bool:
        """Whether a text is unlike the collection: its words are rarer than the limit, or none of them is known.

        Args:
            rarity: of the collection's words.
            text: that a query consists of; one without words is not judged.
            kind: of the query.
        """
        words = rarity.words(text)
        if not words:
            return False
        limit = self.kinds.get(kind, next(iter(self.kinds.values()))).at(len(words))
        return rarity.are_unknown(words) or bool(rarity.of(words).mean() > limit)
