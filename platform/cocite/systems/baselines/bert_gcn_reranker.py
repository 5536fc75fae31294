"""Trains BERT-GCN on the contexts of a history, and scores candidates by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from cocite.errors import InputError
from cocite.protocols import NO_ROW, Query, Ranking
from cocite.systems.baselines.bert_gcn import BertGcn, BertGcnSettings
from cocite.systems.baselines.citing_pairs import TableOptimizers
from cocite.systems.baselines.graph_autoencoder import GraphAutoEncoder, train_graph
from cocite.systems.baselines.texts import CitingTexts, around_gaps, mean_vectors
from cocite.systems.baselines.vectors import unit
from cocite.text.paragraphs import Paragraphs

UNCITED = -1e9
"""Score of a paper that the training period does not cite: below all others, and equal to that of each such paper."""
QUERIES = 256
"""Queries scored at a time."""


class BertGcnInputs:
    """What the network reads, and the papers that it tells apart.

    Args:
        texts: the contexts of a history, and the words of all papers.
        start: (W, d) Word2Vec's vectors of the words, whose mean is what the graph knows of a paper.
        settings: limits.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> texts = CitingTexts.of(History.all(starter_corpus()), ParagraphSettings())
        >>> inputs = BertGcnInputs(texts, np.ones((texts.reader.size, 4), np.float32), BertGcnSettings())
        >>> len(inputs.classes) == len(np.unique(texts.cited.indices)), inputs.features(texts.papers).shape
        (True, (423, 4))
    """

    def __init__(self, texts: CitingTexts, start: NDArray[np.float32], settings: BertGcnSettings) -> None:
        self.texts, self.start, self.settings = texts, start, settings

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """(C,) rows of the papers that contexts of the history cite, ascending."""
        return np.unique(self.texts.cited.indices).astype(np.int64)

    def class_of(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """The place among the classes of each of some papers; -1 for one that is none."""
        place = np.minimum(np.searchsorted(self.classes, rows), len(self.classes) - 1)
        return np.where(self.classes[place] == rows, place, -1)

    def features(self, papers: Paragraphs) -> NDArray[np.float32]:
        """(n, d) of titles and abstracts: the mean of the words' vectors, scaled to length 1."""
        return unit(mean_vectors(papers, self.start))

    def contexts(self, contexts: Paragraphs) -> tuple[Tensor, Tensor]:
        """(n, t) words around the gaps of contexts, and (n,) the places of the gaps."""
        return around_gaps(contexts, self.settings.words)

    def queries(self, queries: Sequence[Query]) -> tuple[Tensor, Tensor, Tensor]:
        """What :meth:`contexts` gives of queries, and (n, d) the features of their titles and abstracts."""
        contexts, citing = self.texts.of_queries(queries)
        return *self.contexts(contexts), torch.from_numpy(self.features(citing))

    def network(self, papers: NDArray[np.float32]) -> BertGcn:
        """An untrained network, whose classes begin with (N, d) Word2Vec's vectors of all papers.

        Raises:
            InputError: the heads do not divide the vectors' components.
        """
        if self.start.shape[1] % self.settings.heads:
            raise InputError(
                f"w2v.dimension is {self.start.shape[1]}, which bertgcn.heads ({self.settings.heads}) does not divide"
            )
        return BertGcn(self.start, papers[self.classes], self.settings)


def train_bert_gcn(
    texts: CitingTexts,
    start: tuple[NDArray[np.float32], NDArray[np.float32]],
    settings: BertGcnSettings,
    *,
    seed: int = 0,
    advance: Callable[[int], object] = lambda _: None,
) -> BertGcn:
    """Train the graph on the links of a history, then the network on its contexts and what they cite.

    Args:
        texts: the contexts.
        start: Word2Vec's vectors of words (W, d) and papers (N, d).
        settings: of network and training.
        seed: of weights, order, dropout and what the graph draws.
        advance: called with the number of pairs of each step.
    """
    inputs, history = BertGcnInputs(texts, start[0], settings), texts.history
    features = inputs.features(texts.papers)
    context, cited = (part.astype(np.int64) for part in texts.cited.pairs())
    wanted = inputs.class_of(cited)
    rng = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = inputs.network(start[1]).train()
        model.graph = _graph(features, history.cites.pairs(), settings, seed).requires_grad_(False)
        optimizers = TableOptimizers(model, [model.words.weight], settings.learning_rate)
        for _ in range(settings.epochs):
            order = rng.permutation(len(cited))
            for begin in range(0, len(order), settings.batch):
                batch = order[begin : begin + settings.batch]
                citing = torch.from_numpy(features[texts.citing[context[batch]]])
                logits = model(*inputs.contexts(texts.contexts.take(context[batch])), citing)
                optimizers.step(functional.cross_entropy(logits, torch.from_numpy(wanted[batch])))
                advance(len(batch))
    return model.eval()


def _graph(
    features: NDArray[np.float32],
    links: tuple[NDArray[np.int32], NDArray[np.int32]],
    settings: BertGcnSettings,
    seed: int,
) -> GraphAutoEncoder:
    """The graph's encoder, of the papers that have a link alone; each link counts once, whoever cites whom."""
    papers, ends = np.unique(np.stack(links), return_inverse=True)
    pairs = np.unique(np.sort(ends.reshape(2, -1), axis=0), axis=1)
    left, right = pairs[:, pairs[0] != pairs[1]]
    return train_graph(
        features[papers],
        left,
        right,
        hidden=settings.graph_hidden,
        latent=settings.graph,
        epochs=settings.graph_epochs,
        learning_rate=settings.graph_learning_rate,
        seed=seed,
    )


class BertGcnReranker:
    """Scores candidates by the logarithm of their probability among the papers that the training period cites.

    Args:
        inputs: reads contexts and papers.
        model: the trained network.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> texts = CitingTexts.of(History.all(starter_corpus()), ParagraphSettings())
        >>> inputs = BertGcnInputs(texts, np.ones((texts.reader.size, 4), np.float32), BertGcnSettings(heads=2))
        >>> reranker = BertGcnReranker(inputs, inputs.network(np.ones((423, 4), np.float32)).eval())
        >>> candidates = Ranking(np.array([[5, 9, NO_ROW]], np.int32), np.zeros((1, 3), np.float32))
        >>> np.isfinite(reranker.score([Query("q", context="parsing [CIT]")], candidates)).tolist()
        [[True, True, False]]
    """

    name = "BERT-GCN"

    def __init__(self, inputs: BertGcnInputs, model: BertGcn) -> None:
        self.inputs, self.model = inputs, model

    @torch.inference_mode()
    def score(self, queries: Sequence[Query], candidates: Ranking) -> NDArray[np.float32]:
        """(Q, k) log-probabilities; :data:`UNCITED` of papers that are no class, ``-inf`` at padding."""
        result = np.full(candidates.rows.shape, -np.inf, np.float32)
        for start in range(0, len(queries), QUERIES):
            read = self.inputs.queries(queries[start : start + QUERIES])
            chances = self.model(*read).log_softmax(1).numpy()
            rows = candidates.rows[start : start + QUERIES]
            place = self.inputs.class_of(rows)
            found = np.where(
                place < 0, np.float32(UNCITED), np.take_along_axis(chances, np.maximum(place, 0), 1)
            )
            result[start : start + QUERIES] = np.where(rows == NO_ROW, -np.inf, found)
        return result
