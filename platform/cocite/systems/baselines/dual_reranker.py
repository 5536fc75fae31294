"""Trains DualCon or DualEnh on the contexts of a history, and scores candidates by it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cocite.protocols import NO_ROW, Query, Ranking
from cocite.systems.baselines.authors import AuthorNumbers
from cocite.systems.baselines.citation_years import CitationYears
from cocite.systems.baselines.citing_pairs import TableOptimizers
from cocite.systems.baselines.dual import Dual, DualSettings, triplet_loss
from cocite.systems.baselines.texts import CitingTexts, around_gaps, first_words, padded
from cocite.text.paragraphs import Paragraphs

PAPERS, PAIRS = 256, 512
"""Candidates that are read at a time, and pairs that are scored at a time."""


class DualInputs:
    """What the network reads of contexts and papers, as tensors.

    Args:
        texts: the contexts of a history, and the words of all papers.
        settings: limits.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> texts = CitingTexts.of(History.all(starter_corpus()), ParagraphSettings())
        >>> inputs = DualInputs(texts, DualSettings(paper=9))
        >>> inputs.papers(np.array([3, 8])).shape, inputs.citations(np.array([3, 8]), np.array([2015, 2016])).shape
        (torch.Size([2, 9]), torch.Size([2, 5]))
    """

    def __init__(self, texts: CitingTexts, settings: DualSettings) -> None:
        self.texts, self.settings = texts, settings
        self.people = AuthorNumbers(texts.history, most=settings.authors, first=settings.people)
        self.years = CitationYears(texts.history, settings.years)

    @cached_property
    def _papers(self) -> Paragraphs:
        return first_words(self.texts.papers, self.settings.paper)

    def papers(self, rows: NDArray[np.int64]) -> Tensor:
        """(n, t) words of the titles and abstracts of papers."""
        return torch.from_numpy(padded(self._papers.take(rows)))

    def authors(self, rows: NDArray[np.int64]) -> Tensor:
        """(n, a) numbers of their authors."""
        return torch.from_numpy(self.people.of_papers(rows))

    def citations(self, rows: NDArray[np.int64], years: NDArray[np.int64]) -> Tensor:
        """(..., years + 1) features of papers for manuscripts of some years."""
        return torch.from_numpy(self.years.features(rows, years))

    def contexts(self, contexts: Paragraphs) -> tuple[Tensor, Tensor]:
        """(n, t) words around the gaps of contexts, and (n,) the places of the gaps."""
        return around_gaps(contexts, self.settings.words)

    def queries(self, queries: Sequence[Query]) -> tuple[Tensor, Tensor, Tensor]:
        """What :meth:`contexts` gives of queries, and (n, u) the words of their titles and abstracts."""
        contexts, citing = self.texts.of_queries(queries)
        return *self.contexts(contexts), torch.from_numpy(padded(first_words(citing, self.settings.paper)))


def train_dual(
    texts: CitingTexts,
    start: NDArray[np.float32],
    settings: DualSettings,
    *,
    enhanced: bool,
    seed: int = 0,
    advance: Callable[[int], object] = lambda _: None,
) -> Dual:
    """Train on the pairs of a context of the history and a paper that it cites.

    Negatives are papers of the history that are not later than the citing one, and that it does not cite.

    Args:
        texts: the contexts.
        start: (W, d) vectors that words begin with.
        settings: of network and training.
        enhanced: DualEnh, else DualCon.
        seed: of weights, order and negatives.
        advance: called with the number of pairs of each step.
    """
    history, inputs = texts.history, DualInputs(texts, settings)
    years = history.corpus.years.astype(np.int64)
    pool = np.flatnonzero(history.citing | (history.in_citations > 0))
    context, cited = (part.astype(np.int64) for part in texts.cited.pairs())
    rng = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Dual(start, inputs.people.size, settings, enhanced=enhanced).train()
    optimizers = TableOptimizers(model, [model.words.weight], settings.learning_rate)
    for _ in range(settings.epochs):
        order = rng.permutation(len(cited))
        for begin in range(0, len(order), settings.batch):
            batch = order[begin : begin + settings.batch]
            citing, negatives = (
                texts.citing[context[batch]].astype(np.int64),
                rng.choice(pool, settings.negatives),
            )
            vectors = model.contexts(
                *inputs.contexts(texts.contexts.take(context[batch])),
                inputs.papers(citing) if enhanced else None,
            )
            rows = np.concatenate([cited[batch], negatives])
            papers = model.papers(inputs.papers(rows), inputs.authors(rows))
            positives, others = torch.arange(len(batch)), torch.arange(len(batch), len(rows))
            of_cited = model(
                vectors[:, None],
                papers.take(positives),
                inputs.citations(cited[batch], years[citing])[:, None],
            )
            of_others = model(
                vectors[None], papers.take(others), inputs.citations(negatives[:, None], years[citing][None])
            )
            valid = (negatives[:, None] != citing) & ~history.cites.contains(citing[None], negatives[:, None])
            valid &= (years[citing] == 0) | (years[negatives][:, None] <= years[citing])
            loss = triplet_loss(of_cited[:, 0], of_others, torch.from_numpy(valid), settings.margin)
            optimizers.step(loss)
            advance(len(batch))
    return model.eval()


class DualReranker:
    """Scores candidates by DualCon or DualEnh.

    Args:
        name: of the system, for tables.
        inputs: reads contexts and papers; the citations that count are those of its history.
        model: the trained network.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> settings = DualSettings(hidden=8)
        >>> inputs = DualInputs(CitingTexts.of(History.all(starter_corpus()), ParagraphSettings()), settings)
        >>> start = np.zeros((inputs.texts.reader.size, 8), np.float32)
        >>> reranker = DualReranker("DualEnh", inputs, Dual(start, inputs.people.size, settings, enhanced=True).eval())
        >>> candidates = Ranking(np.array([[5, 9, NO_ROW]], np.int32), np.zeros((1, 3), np.float32))
        >>> np.isfinite(reranker.score([Query("q", context="parsing [CIT]")], candidates)).tolist()
        [[True, True, False]]
    """

    def __init__(self, name: str, inputs: DualInputs, model: Dual) -> None:
        self.name, self.inputs, self.model = name, inputs, model

    @torch.inference_mode()
    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """(Q, k) scores; ``-inf`` at padding. A paper that several queries have as a candidate is read once."""
        result = np.full(candidates.rows.shape, -np.inf, np.float32)
        owner, column = np.nonzero(candidates.rows != NO_ROW)
        texts, gaps, citing = self.inputs.queries(queries)
        vectors = self.model.contexts(texts, gaps, citing)
        years = np.array([query.year or 0 for query in queries], np.int64)
        rows, which = np.unique(candidates.rows[owner, column].astype(np.int64), return_inverse=True)
        order = np.argsort(which, kind="stable")
        starts = np.arange(0, len(rows), PAPERS)
        bounds = [*np.searchsorted(which[order], starts).tolist(), len(order)]
        for start, (first, last) in zip(starts.tolist(), itertools.pairwise(bounds), strict=True):
            some = rows[start : start + PAPERS]
            papers = self.model.papers(self.inputs.papers(some), self.inputs.authors(some))
            for place in range(first, last, PAIRS):
                pairs = order[place : min(place + PAIRS, last)]
                asked = owner[pairs]
                scores = self.model(
                    vectors[asked][:, None],
                    papers.take(torch.from_numpy(which[pairs] - start)),
                    self.inputs.citations(rows[which[pairs]], years[asked])[:, None],
                )
                result[asked, column[pairs]] = scores[:, 0].numpy()
        return result
