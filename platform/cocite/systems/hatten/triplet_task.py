"""HAtten's objective of the paper: triplets with mined negatives and mined positives (Gu et al. 2022, section 4.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.array_files import scratch_array
from cocite.protocols import NO_ROW
from cocite.systems.hatten.base_task import HattenTask, to_device
from cocite.systems.hatten.examples import Batch, Sample
from cocite.systems.hatten.losses import triplet_losses
from cocite.systems.hatten.mining import most_overlapping
from cocite.training.engine.world import World

BLOCK = 4096
"""Queries whose mined papers are compared with them at a time."""


class TripletTask(HattenTask):
    """Compares, for each context, its cited papers with mined papers, and mined positives with random ones.

    Mined positives are the mined papers whose words overlap most with the query's. With ``cited_against_random`` the
    cited papers are compared with the random ones too.

    Args:
        recipe: settings.
        corpus: the papers.
        texts: of the corpus, with its training and dev contexts.
        vectors: (W, d) initial word vectors.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.hatten.texts import prepare
        >>> from cocite.systems.hatten.task import build
        >>> from cocite.systems.hatten.recipe import HattenRecipe
        >>> recipe = HattenRecipe.parse({"words": {"source": "random"}, "period": {"train_until": 2010},
        ...                              "objective": {"objective": "paper", "contexts": 1, "random": 2}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0), Path(folder, "corpus"))
        ...     _ = prepare(recipe.texts, corpus, Path(folder, "hatten-texts"))
        ...     task = build(recipe, corpus, Path(folder))
        >>> losses = task.loss(task.model.eval(), task.collate(np.arange(3), 0))
        >>> bool((losses >= 0).all())
        True
    """

    def relevant(
        self, contexts: NDArray[np.int64], rows: NDArray[np.int32], world: World
    ) -> NDArray[np.bool_]:
        """(e, K) the mined papers whose words overlap most with the query's, context included."""
        texts, share = self.texts, self.recipe.objective.overlap
        result = scratch_array(rows.shape, bool)
        total = len(self.gaps)
        for part in self.watch.filled("mining: words", result, size=BLOCK, total=total, world=world):
            block, numbers = rows[part], contexts[part]
            queries = texts.words(texts.parts_of_queries(self.gaps.citing[numbers], numbers))
            # Only the papers that this block names: the words of all papers would take a hundred times the room.
            named = np.unique(block[block != NO_ROW])
            papers = texts.words(texts.parts_of_papers(named))
            local = np.where(block == NO_ROW, NO_ROW, np.searchsorted(named, block)).astype(np.int32)
            result[part] = most_overlapping(local, queries, papers, self.reader.size, share)
        return result

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b,) the mean loss of each example's triplets."""
        sample = batch.sample
        vectors: Tensor = model(batch.documents, batch.attend)
        device = vectors.device
        queries, papers = vectors[: len(sample.contexts)], vectors[len(sample.contexts) :]
        query, positive, negative = self.triplets(sample)
        near, far = (
            papers[to_device(np.searchsorted(sample.papers, rows), device)] for rows in (positive, negative)
        )
        anchors = queries[to_device(query, device)]
        losses = triplet_losses(
            (anchors * near).sum(1), (anchors * far).sum(1), margin=self.recipe.objective.margin
        )
        owner = sample.owner[query]
        count = np.maximum(np.bincount(owner, minlength=int(sample.owner[-1]) + 1), 1)
        weight = to_device((1 / count[owner]).astype(np.float32), device)
        return losses.new_zeros(len(count)).index_add(0, to_device(owner, device), losses * weight)

    def triplets(self, sample: Sample) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """(T,) query, positive paper and negative paper of each triplet; forbidden negatives are left out."""
        # Negative mining: the cited papers against the mined ones and, where the recipe says so, the random ones.
        negatives = sample.mined
        if self.recipe.objective.cited_against_random:
            negatives = np.concatenate([sample.mined, sample.random], axis=1)  # (q, m + r)
        positive, negative = np.broadcast_arrays(sample.cited[:, None], negatives[sample.pair])
        query = np.broadcast_to(sample.pair[:, None], positive.shape)
        parts = [(query.ravel(), positive.ravel(), negative.ravel())]
        if sample.random.size and sample.mined.size:
            # Positive mining: the relevant mined papers against the random ones.
            owner, column = np.nonzero(sample.relevant)
            near, far = np.broadcast_arrays(sample.mined[owner, column][:, None], sample.random[owner])
            parts.append((np.broadcast_to(owner[:, None], near.shape).ravel(), near.ravel(), far.ravel()))
        query, positive, negative = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        usable = ~self.forbidden.at(self.queries(sample.contexts[query]), negative) & (positive != negative)
        return query[usable], positive[usable], negative[usable]
