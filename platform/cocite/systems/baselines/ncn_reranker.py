"""Trains NCN on the contexts of a history, and scores candidates by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.systems.baselines.authors import AuthorNumbers
from cocite.systems.baselines.filters import PADDING
from cocite.systems.baselines.ncn import Ncn, NcnPairs, NcnSettings
from cocite.systems.baselines.texts import CitingTexts, nearest_words
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import CONTEXT, SPECIAL, TITLE, UNKNOWN, Paragraphs

PAIRS = 512
"""Pairs scored at a time."""


@dataclass(frozen=True)
class NcnReader:
    """Numbers the words and authors that NCN reads.

    Attributes:
        history: whose papers' authors are told apart.
        words: numbers words; those behind ``settings.vocabulary`` are unknown.
        settings: limits.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> history = History.all(starter_corpus())
        >>> words = ParagraphReader.build(history, ParagraphSettings(), bodies=False)
        >>> reader = NcnReader(history, words, NcnSettings(people=2))
        >>> reader.titles(np.array([3, 9])).shape[0], reader.authors.size == reader.sizes[1]
        (2, True)
    """

    history: History
    words: ParagraphReader
    settings: NcnSettings

    @cached_property
    def authors(self) -> AuthorNumbers:
        """Numbers authors."""
        return AuthorNumbers(self.history, most=self.settings.authors, first=self.settings.people)

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of words and of authors."""
        return min(self.words.size, SPECIAL + self.settings.vocabulary), self.authors.size

    def contexts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """(n, w) the words around the gap of each context."""
        read = self.words.read(pa.array(texts, pa.string()), CONTEXT)
        return self._rectangle(nearest_words(read, self.settings.words))

    def titles(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """(n, t) the words of the titles of some papers."""
        texts = pa.array(self.history.corpus.papers.take("title", rows), pa.string())
        read = self.words.read(texts, TITLE)
        counts = np.minimum(read.lengths, self.settings.title)
        keep = np.arange(len(read.tokens)) - np.repeat(read.indptr[:-1], read.lengths) < np.repeat(
            counts, read.lengths
        )
        return self._rectangle(Paragraphs(np.concatenate([[0], np.cumsum(counts)]), read.tokens[keep]))

    def _rectangle(self, paragraphs: Paragraphs) -> NDArray[np.int64]:
        """(n, longest), of at least one column; words that are not told apart are the unknown word."""
        numbers = paragraphs.rectangle(np.arange(len(paragraphs))).astype(np.int64)
        numbers[numbers >= self.sizes[0]] = UNKNOWN
        numbers[np.arange(numbers.shape[1]) >= paragraphs.lengths[:, None]] = PADDING
        return numbers if numbers.shape[1] else np.full((len(paragraphs), 1), UNKNOWN, np.int64)


def train_ncn(
    texts: CitingTexts,
    settings: NcnSettings,
    *,
    seed: int = 0,
    advance: Callable[[int], object] = lambda _: None,
) -> Ncn:
    """Train on the pairs of a context of the history and a paper that it cites.

    Args:
        texts: the contexts.
        settings: of network and training.
        seed: of weights, order and dropout.
        advance: called with the number of pairs of each step.
    """
    reader = NcnReader(texts.history, texts.reader, settings)
    corpus = texts.history.corpus
    context, cited = (part.astype(np.int64) for part in texts.cited.pairs())
    words = reader.contexts(corpus.contexts.take("text", texts.history.contexts))
    rng = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Ncn(*reader.sizes, settings).train()
        optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
        for _ in range(settings.epochs):
            order = rng.permutation(len(cited))
            for start in range(0, len(order), settings.batch):
                batch = order[start : start + settings.batch]
                citing = texts.citing[context[batch]].astype(np.int64)
                pairs = NcnPairs(
                    torch.from_numpy(words[context[batch]]),
                    torch.from_numpy(reader.authors.of_papers(citing)),
                    torch.from_numpy(reader.authors.of_papers(cited[batch])),
                    torch.from_numpy(reader.titles(cited[batch])),
                )
                optimizer.zero_grad()
                (-model(pairs).mean()).backward()
                if settings.clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
                optimizer.step()
                advance(len(batch))
    return model.eval()


class NcnReranker:
    """Scores candidates by the logarithm of the probability of their titles.

    Args:
        reader: numbers words and authors.
        model: the trained network.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> history, settings = History.all(starter_corpus()), NcnSettings(dimension=8, channels=8)
        >>> words = ParagraphReader.build(history, ParagraphSettings(), bodies=False)
        >>> reader = NcnReader(history, words, settings)
        >>> reranker = NcnReranker(reader, Ncn(*reader.sizes, settings).eval())
        >>> candidates = Ranking(np.array([[5, 9, NO_ROW]], np.int32), np.zeros((1, 3), np.float32))
        >>> np.isfinite(reranker.score([Query("q", context="parsing [CIT]")], candidates)).tolist()
        [[True, True, False]]
    """

    name = "NCN"

    def __init__(self, reader: NcnReader, model: Ncn) -> None:
        self.reader, self.model = reader, model

    @torch.inference_mode()
    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """(Q, k) log-probabilities; ``-inf`` at padding. A global query's context is its title and abstract."""
        result = np.full(candidates.rows.shape, -np.inf, np.float32)
        owner, column = np.nonzero(candidates.rows != NO_ROW)
        texts = [query.context if query.is_local else f"{query.title} {query.abstract}" for query in queries]
        contexts = torch.from_numpy(self.reader.contexts(texts))
        citing = torch.from_numpy(self.reader.authors.read([query.authors for query in queries]))
        for start in range(0, len(owner), PAIRS):
            asked, place = owner[start : start + PAIRS], column[start : start + PAIRS]
            rows = candidates.rows[asked, place].astype(np.int64)
            pairs = NcnPairs(
                contexts[asked],
                citing[asked],
                torch.from_numpy(self.reader.authors.of_papers(rows)),
                torch.from_numpy(self.reader.titles(rows)),
            )
            result[asked, place] = self.model(pairs).numpy()
        return result
