"""HAtten's in-batch objective: a softmax of each cited paper against all papers of the step. Not in the paper."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cocite.corpus.store import Corpus
from cocite.systems.hatten.base_task import HattenTask, to_device
from cocite.systems.hatten.examples import Batch, Sample
from cocite.systems.hatten.recipe import HattenRecipe
from cocite.systems.hatten.texts import HattenTexts
from cocite.training.engine.task import Examples


class InBatchTask(HattenTask):
    """Compares each cited paper with all papers of the step.

    It is a :class:`~cocite.training.engine.task.ContrastiveTask`: a step may be larger than what fits into memory.

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
        >>> recipe = HattenRecipe.parse({"words": {"source": "random"}, "period": {"train_until": 2010}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0), Path(folder, "corpus"))
        ...     _ = prepare(recipe.texts, corpus, Path(folder, "hatten-texts"))
        ...     task = build(recipe, corpus, Path(folder))
        >>> task.loss(task.model, task.collate(np.arange(3), 0)).shape  # one loss an example
        torch.Size([3])
    """

    def __init__(
        self, recipe: HattenRecipe, corpus: Corpus, texts: HattenTexts, vectors: NDArray[np.float32]
    ) -> None:
        super().__init__(recipe, corpus, texts, vectors)
        self._citations = texts.citations

    def _log_share(self, rows: NDArray[np.int32]) -> Tensor:
        """(n,) the log of each paper's share of the citations that are trained on."""
        share = np.maximum(self._citations[rows], 0.5) / max(len(self.gaps.cited.indices), 1)
        return torch.from_numpy(np.log(share).astype(np.float32))

    def embed(self, model: nn.Module, batch: Batch) -> Tensor:
        """(q + c, d) vectors of a piece's queries and papers."""
        vectors: Tensor = model(batch.documents, batch.attend)
        return vectors

    def contrast(self, vectors: Tensor, pieces: list[Examples], epoch: int) -> Tensor:
        """(b,) for each example, the softmax losses of its citations."""
        return self._losses(vectors, [self.sample(piece, epoch) for piece in pieces])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b,) the losses of a batch that is a step by itself."""
        return self._losses(self.embed(model, batch), [batch.sample])

    def _losses(self, vectors: Tensor, samples: list[Sample]) -> Tensor:
        """(b,) losses of a step, given the (R, d) vectors of its pieces one below the other."""
        queries, papers, start = [], [], 0
        for piece in samples:
            middle, end = start + len(piece.contexts), start + len(piece.contexts) + len(piece.papers)
            queries.append(np.arange(start, middle))
            papers.append(np.arange(middle, end))
            start = end
        # A paper of several pieces was embedded in each of them: its first vector is used.
        rows, first = np.unique(np.concatenate([piece.papers for piece in samples]), return_index=True)
        asked = self.queries(np.concatenate([piece.contexts for piece in samples]))
        before = np.cumsum([0, *(len(piece.contexts) for piece in samples)])
        examples = np.cumsum([0, *(int(piece.owner[-1]) + 1 for piece in samples)])
        pair = np.concatenate([piece.pair + b for piece, b in zip(samples, before[:-1], strict=True)])
        owner = np.concatenate([piece.owner + e for piece, e in zip(samples, examples[:-1], strict=True)])
        target = np.searchsorted(rows, np.concatenate([piece.cited for piece in samples]))
        device = vectors.device
        similar = (
            vectors[to_device(np.concatenate(queries), device)]
            @ vectors[to_device(np.concatenate(papers)[first], device)].T
        )
        logits = self.recipe.objective.scale * similar  # (Q, C)
        if self.recipe.objective.correction:
            logits = logits - self.recipe.objective.correction * self._log_share(rows).to(device)
        # Of several papers that a context cites, each is compared with the negatives, not with the other cited ones.
        left_out = self.forbidden.table(asked, rows)[pair]
        left_out[np.arange(len(pair)), target] = False
        logits = logits[to_device(pair, device)].masked_fill(to_device(left_out, device), -torch.inf)
        losses = functional.cross_entropy(logits, to_device(target, device), reduction="none")  # (P,)
        # A context counts as one however many papers it cites, and all contexts of a step count alike.
        weight = 1 / np.bincount(pair)[pair] * examples[-1] / before[-1]
        weighted = losses * to_device(weight.astype(np.float32), device)
        return losses.new_zeros(int(examples[-1])).index_add(0, to_device(owner[pair], device), weighted)
