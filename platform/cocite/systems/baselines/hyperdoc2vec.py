"""HyperDoc2Vec as a baseline (Han et al. 2018, "hyperdoc2vec: Distributed Representations of Hypertext Documents").

A paper has two vectors, IN where it cites and OUT where it is cited; a word has an IN vector. Training raises the inner
product of the mean of the citing paper's IN vector and the IN vectors of a context's words with the OUT vectors of what
the context cites, and lowers that with papers drawn by how often they are cited (negative sampling). Words and papers
begin with PV-DM's vectors of the papers' own texts, which the paper calls retrofitting. A manuscript has no vector of
its own, so a query is the mean of the context's words (MP-BERT4CR, section 5.3).

Neither text gives the rest, which is the choice of this implementation: OUT vectors begin as copies of the IN vectors;
all are scaled to be shorter than PV-DM's; Adam in place of gensim's plain gradient steps; its rate and epochs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import nn

from cocite.bounds import BatchSize, Epochs, LearningRate, PositiveFactor, PositiveSmallCount, Power
from cocite.config import Settings
from cocite.systems.baselines.citing_pairs import CitingPairs, noise_loss, same_paper, table
from cocite.systems.baselines.texts import CitingTexts, only_words


class HyperDoc2VecSettings(Settings):
    """How IN and OUT vectors are trained.

    Example:
        >>> HyperDoc2VecSettings(epochs=1).negatives
        5
    """

    start: PositiveFactor = 0.1
    """Mean length that initial vectors are scaled to: at the length of PV-DM's, gradients are too small."""
    epochs: Epochs = 6
    """Passes over the pairs of context and cited paper."""
    batch: BatchSize = 256
    """Pairs of a step."""
    negatives: PositiveSmallCount = 5
    """Noise papers for each pair (gensim's default)."""
    noise: int = Field(1000, ge=1, le=1_000_000)
    """Noise papers drawn for a batch: all its pairs share them, each with the weight of ``negatives`` of them."""
    power: Power = 0.75
    """Exponent of the number of contexts that cite a paper, in the draw of noise."""
    learning_rate: LearningRate = 0.01
    """Learning rate of Adam."""
    cosine: bool = False
    """Whether papers are ranked by the cosine (MP-BERT4CR, section 5.3) and not by the inner product. It changes no
    vector."""


def hyperdoc2vec(
    texts: CitingTexts,
    start: tuple[NDArray[np.float32], NDArray[np.float32]],
    settings: HyperDoc2VecSettings,
    *,
    seed: int = 0,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Train IN vectors of words (W, d) and OUT vectors of papers (N, d).

    Args:
        texts: the contexts.
        start: initial vectors of words (W, d) and papers (N, d).
        settings: of the training.
        seed: of order and noise.
        advance: called with the number of pairs of each step.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.text.paragraph_reader import ParagraphSettings
        >>> rng = np.random.default_rng(0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     history = History.all(build(Synthetic(60, seed=1), folder + "/corpus"))
        ...     texts = CitingTexts.of(history, ParagraphSettings())
        ...     start = [rng.normal(size=(n, 4)).astype(np.float32) for n in (texts.reader.size, 60)]
        ...     words, papers = hyperdoc2vec(texts, tuple(start), HyperDoc2VecSettings(epochs=1))
        >>> papers.shape
        (60, 4)
    """
    words, citing, cited = (table(vectors, settings.start) for vectors in (start[0], start[1], start[1]))
    contexts = only_words(texts.contexts)
    pairs = CitingPairs(texts, noise=settings.noise, power=settings.power, seed=seed)
    weights = [layer.weight for layer in (words, citing, cited)]
    optimizer = torch.optim.SparseAdam(weights, lr=settings.learning_rate)
    for _ in range(settings.epochs):
        for context, target, noise in pairs.batches(settings.batch):
            batch = contexts.take(context)
            total = nn.functional.embedding_bag(
                torch.from_numpy(batch.tokens.astype(np.int64)),
                words.weight,
                torch.from_numpy(batch.indptr[:-1]),
                mode="sum",
                sparse=True,
            )
            total = total + citing(torch.from_numpy(texts.citing[context].astype(np.int64)))
            queries = total / torch.from_numpy(1 + batch.lengths[:, None])
            loss = noise_loss(
                queries,
                cited(torch.from_numpy(target)),
                cited(torch.from_numpy(noise)),
                same_paper(target, noise),
                settings.negatives,
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()  # type: ignore[no-untyped-call]
            advance(len(context))
    return words.weight.detach().numpy(), cited.weight.detach().numpy()
