"""How rare the words of a text are in a collection.

The rarity of a text is the mean inverse document frequency of its words (AvIDF: B. He and I. Ounis, Inferring query
performance using pre-retrieval predictors, SPIRE 2004), here of all its words, repeated as they occur, and the mean of
that among papers and that among citation contexts. An idf is the negative logarithm of a word's share of documents, so
this is the cross-entropy of the text with the collection's words. It needs only what BM25 holds already, and no search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from cocite.retrieval.engines.bm25 import Bm25Index


@dataclass(frozen=True)
class OwnWords:
    """The words of one paper, which its texts are weighed without.

    Attributes:
        papers: word -> 1, of its title and abstract.
        contexts: word -> how many of its citation contexts hold it.
        count: how many of those there are.

    Example:
        >>> own = OwnWords.of(["parsing", "trees"], [["trees", "trees"], ["parsing"]])
        >>> own.papers["trees"], own.contexts["trees"], own.count
        (1, 1, 2)
    """

    papers: Mapping[str, int]
    contexts: Mapping[str, int]
    count: int

    @classmethod
    def of(cls, paper: Sequence[str], contexts: Sequence[Sequence[str]]) -> OwnWords:
        """Those of the words of title and abstract, and of the words of each context."""
        return cls(Counter({*paper}), Counter(chain.from_iterable(map(set, contexts))), len(contexts))


@dataclass(frozen=True)
class WordRarity:
    """The rarity of words among papers and citation contexts.

    Attributes:
        papers: the words of titles and abstracts.
        contexts: the words of citation contexts.
        documents: how many papers and contexts their idf was computed of.

    Example:
        >>> papers = Bm25Index.build(["parsing with trees", "parsing with charts", "neural parsing"])
        >>> rarity = WordRarity(papers, Bm25Index.build([]), (3, 0))
        >>> rarity.of(["parsing", "charts", "gene"]).round(2).tolist()
        [0.41, 0.84, 1.39]
        >>> rarity.are_unknown(["gene", "protein"]), rarity.are_unknown(["gene", "trees"])
        (True, False)
    """

    papers: Bm25Index
    contexts: Bm25Index
    documents: tuple[int, int]

    def words(self, text: str) -> list[str]:
        """The words of a text, without stop words."""
        return self.papers.tokenizer.words(text)

    def of(self, words: Sequence[str], own: OwnWords | None = None) -> NDArray[np.float64]:
        """(n,) the rarity of each word.

        Args:
            words: n of them.
            own: what the collection is to lack.
        """
        if own is None:
            own = OwnWords({}, {}, 0)
        of_papers = _idf(self.papers, self.documents[0], words, own.papers, 1 if own.papers else 0)
        return (of_papers + _idf(self.contexts, self.documents[1], words, own.contexts, own.count)) / 2

    def are_unknown(self, words: Sequence[str]) -> bool:
        """Whether there are words, and the collection holds none of them."""
        known = (word in self.papers.vocabulary or word in self.contexts.vocabulary for word in words)
        return bool(words) and not any(known)


def _idf(
    index: Bm25Index, documents: int, words: Sequence[str], own: Mapping[str, int], count: int
) -> NDArray[np.float64]:
    """(n,) ``log((N + 1) / (n + 0.5))``, as Lucene's idf is, of N documents without ``count``, which hold ``own``."""
    numbers = np.array([index.vocabulary.get(word, -1) for word in words], np.int64)
    known = numbers >= 0
    holding = np.zeros(len(words))
    holding[known] = (documents + 1) / np.exp(index.idf[numbers[known]]) - 0.5
    if own:
        holding = np.maximum(holding - np.array([own.get(word, 0) for word in words]), 0)
    return np.asarray(np.log((documents - count + 1) / (holding + 0.5)))
