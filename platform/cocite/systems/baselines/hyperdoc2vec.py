"""HyperDoc2Vec as a baseline (Han et al. 2018, "hyperdoc2vec: Distributed Representations of Hypertext Documents").

A paper has two vectors, IN as the one that cites and OUT as the one that is cited; a word has an IN vector. The mean
of the citing paper's IN vector and the IN vectors of a context's words is to be near the OUT vectors of what the
context cites, by inner product, and far from those of papers drawn by how often they are cited (negative sampling).
Words and papers begin with PV-DM's vectors of the papers' own texts, which the paper calls retrofitting. At a query
the manuscript has no vector of its own: the mean of the context's words alone (MP-BERT4CR, section 5.3).

Not told by the texts at hand, and so choices of this implementation: OUT vectors begin as copies of the IN vectors;
all begin shorter than PV-DM leaves them; Adam in place of gensim's plain gradient steps; its rate and epochs.
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
    """How IN and OUT vectors are trained."""

    start: PositiveFactor = 0.1
    """Mean length that vectors begin with: as long as PV-DM leaves them, they hardly learn."""
    epochs: Epochs = 6
    """Passes over the pairs of context and cited paper."""
    batch: BatchSize = 256
    """Pairs of a step."""
    negatives: PositiveSmallCount = 5
    """Papers that each pair is told from (gensim's default)."""
    noise: int = Field(1000, ge=1, le=1_000_000)
    """Papers drawn for a batch: all its pairs are told from them, each as from ``negatives`` of them."""
    power: Power = 0.75
    """Of the number of contexts that cite a paper, in the noise."""
    learning_rate: LearningRate = 0.01
    """Adam's."""


def hyperdoc2vec(
    texts: CitingTexts,
    start: tuple[NDArray[np.float32], NDArray[np.float32]],
    settings: HyperDoc2VecSettings,
    *,
    seed: int = 0,
    advance: Callable[[int], object] = lambda _: None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """IN vectors of words (W, d) and OUT vectors of papers (N, d).

    Args:
        texts: the contexts.
        start: vectors of words (W, d) and papers (N, d) to begin with.
        settings: how.
        seed: of order and noise.
        advance: told how many pairs are done.
    """
    words, citing, cited = (table(vectors, settings.start) for vectors in (start[0], start[1], start[1]))
    contexts = only_words(texts.contexts)
    pairs = CitingPairs(texts, noise=settings.noise, power=settings.power, seed=seed)
    weights = [layer.weight for layer in (words, citing, cited)]
    optimizer = torch.optim.SparseAdam(weights, lr=settings.learning_rate)
    for _ in range(settings.epochs):
        for context, target, noise in pairs.batches(settings.batch):
            read = contexts.take(context)
            total = nn.functional.embedding_bag(
                torch.from_numpy(read.tokens.astype(np.int64)),
                words.weight,
                torch.from_numpy(read.indptr[:-1]),
                mode="sum",
                sparse=True,
            )
            total = total + citing(torch.from_numpy(texts.citing[context].astype(np.int64)))
            queries = total / torch.from_numpy(1 + read.lengths[:, None])
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
