"""Fine-tuning MP-BERT4CR with shared negatives: all papers of a step are negatives of all its citations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from cocite.systems.mp_bert4cr.examples import Batch, Sample
from cocite.systems.mp_bert4cr.own_negatives_task import MpBert4crTask, gather
from cocite.training.engine.task import Examples


class SharedNegativesTask(MpBert4crTask):
    """Compares each citation with all papers of its step. Not in the paper.

    It is a :class:`~cocite.training.engine.task.ContrastiveTask`: a step may be larger than what fits into memory.

    Args:
        recipe: settings.
        corpus: the papers.
        citations: the examples, and the dev queries.
        texts: of the corpus.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.mp_bert4cr import citations, sentence_texts
        >>> from cocite.systems.mp_bert4cr.task import build
        >>> from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
        >>> shape = {"sentence_layers": 1, "document_layers": 1, "hidden": 8, "heads": 2, "inner": 16}
        >>> texts = {"vocabulary": 400, "period": {"train_until": 2010}}
        >>> recipe = MpBert4crRecipe.parse({"texts": texts, "model": shape, "negatives": {"shared": True, "count": 0}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0, sentences=True), Path(folder, "corpus"))
        ...     _ = sentence_texts.prepare(recipe.texts, corpus, Path(folder, "sentence-texts"))
        ...     _ = citations.prepare(recipe.citations, corpus, Path(folder, "citations"))
        ...     task = build(recipe, corpus, Path(folder))
        >>> isinstance(task, SharedNegativesTask), task.loss(task.model, task.collate(np.arange(4), 0)).shape
        (True, torch.Size([4]))
    """

    def embed(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b + c, d) vectors of a piece's manuscripts and papers."""
        vectors: Tensor = model(batch.manuscripts, batch.papers, layers=batch.layers)
        return vectors

    def contrast(self, vectors: Tensor, pieces: Sequence[Examples], epoch: int) -> Tensor:
        """(b,) the loss of each example of a step."""
        return self._losses(vectors, [self.examples.sample(piece, epoch) for piece in pieces])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b,) the losses of a batch that is a step by itself."""
        return self._losses(self.embed(model, batch), [batch.sample])

    def _losses(self, vectors: Tensor, samples: Sequence[Sample]) -> Tensor:
        """(b,) losses of a step, given the (R, d) vectors of its pieces one below the other."""
        counts = [count for piece in samples for count in (len(piece.contexts), len(piece.papers))]
        parts: tuple[Tensor, ...] = vectors.split(counts)  # type: ignore[no-untyped-call]
        # A paper of several pieces was embedded in each of them: its first vector is used.
        rows, first = np.unique(np.concatenate([piece.papers for piece in samples]), return_index=True)
        papers = torch.cat(parts[1::2])[torch.from_numpy(first).to(vectors.device)]
        contexts, targets, positives = (
            np.concatenate([getattr(piece, name) for piece in samples])
            for name in ("contexts", "targets", "positives")
        )
        allowed = ~self.examples.negatives.forbidden(contexts[:, None], rows[None], positives[:, None])
        positive_vectors, positive_mask = gather(papers, rows, positives)
        return self.objective(
            torch.cat(parts[::2]),
            gather(papers, rows, targets)[0],
            positive_vectors,
            positive_mask,
            papers,
            torch.from_numpy(allowed).to(vectors.device),
            torch.from_numpy(self.examples.weights(rows)).to(vectors.device),
        )
