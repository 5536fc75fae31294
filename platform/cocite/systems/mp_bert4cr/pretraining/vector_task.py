"""Pretraining of MP-BERT4CR's sentence level on the vectors of a frozen trunk: what the training engine trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.errors import InputError
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContext
from cocite.systems.mp_bert4cr.flops import forward_flops
from cocite.systems.mp_bert4cr.pretraining.network import save_pretrained
from cocite.systems.mp_bert4cr.pretraining.recipe import HierarchicalPretrainingRecipe
from cocite.systems.mp_bert4cr.pretraining.vector_examples import HiddenVectors, VectorExamples
from cocite.systems.mp_bert4cr.pretraining.vector_network import VectorPretrainer, told_apart
from cocite.text.sentence_texts import SentenceTexts
from cocite.training.engine.loader import to_device
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World
from cocite.training.gaps import Gaps
from cocite.training.periods import Periods

DEV_EPOCH = 1 << 31
"""Number of the epoch whose draws hide sentences of dev documents, so that they are always the same."""


class VectorPretrainingTask:
    """A :class:`~cocite.training.engine.task.ContrastiveTask`: hidden sentences of a step are told from one another.

    An example is the document of a paper of the training period, or of the manuscript of one of its contexts, as
    fine-tuning reads them.

    Args:
        recipe: settings, with the width of the trunk's vectors.
        periods: the papers that are trained on, and the dev papers.
        texts: of the corpus, with sentence vectors.

    Raises:
        InputError: no paper of a period has two sentences.

    Example:
        ``cocite train mp-bert4cr-hierarchy-pretraining`` trains it::

            task = VectorPretrainingTask(recipe, periods, texts)
            loss = task.loss(task.model, task.collate(np.arange(4), 0))

        >>> VectorPretrainingTask.metric
        'accuracy'
    """

    metric = "accuracy"

    def __init__(self, recipe: HierarchicalPretrainingRecipe, periods: Periods, texts: SentenceTexts) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.texts = recipe, texts
        read = recipe.contexts
        context = DynamicContext(read, texts)
        # Of one sentence nothing is left to predict it from.
        several = np.minimum(np.diff(texts.abstract_indptr), read.abstract) > 1
        papers = np.flatnonzero(periods.history.citing & several)
        dev = periods.dev[several[periods.dev]]
        for name, rows in (("training", papers), ("dev", dev)):
            if not len(rows):
                raise InputError(
                    f"no paper of the {name} period has two sentences of title and abstract",
                    where=str(periods.history.corpus.path),
                )
        contexts = Gaps.known(periods.history).positions
        share, seed = recipe.hiding.share, recipe.training.seed
        self.examples = VectorExamples(context, papers, contexts, share=share, seed=seed)
        few = dev[np.linspace(0, len(dev) - 1, min(len(dev), recipe.documents.dev)).astype(np.int64)]
        self.dev = VectorExamples(context, few, np.empty(0, np.int64), share=share, seed=0)
        self.model = VectorPretrainer(recipe.model, len(texts.tokenizer))

    def lengths(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002  (the same in every epoch)
        """(n,) expected tokens of each document."""
        return self.examples.lengths()

    def collate(self, examples: Examples, epoch: int) -> HiddenVectors:
        """Some documents with sentences hidden."""
        return self.examples.batch(np.sort(examples), epoch)

    def embed(self, model: nn.Module, batch: HiddenVectors) -> Tensor:
        """(M, t) the predictions for a piece's hidden sentences."""
        predicted: Tensor = model(batch)
        return predicted

    def contrast(self, vectors: Tensor, pieces: Sequence[Examples], epoch: int) -> Tensor:
        """(b,) the loss of each document of a step."""
        return self._losses(vectors, [self.collate(piece, epoch) for piece in pieces])

    def loss(self, model: nn.Module, batch: HiddenVectors) -> Tensor:
        """(b,) the losses of a batch that is a step by itself."""
        return self._losses(self.embed(model, batch), [batch])

    def _losses(self, predicted: Tensor, batches: Sequence[HiddenVectors]) -> Tensor:
        device = predicted.device
        targets = torch.cat([self.model.targets(to_device(batch, device)) for batch in batches])
        count, owners = 0, []
        for batch in batches:
            owners.append(batch.owners.to(device) + count)
            count += len(batch.documents)
        return told_apart(predicted, targets, torch.cat(owners), count, self.recipe.temperature)[0]

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """Share of the hidden dev sentences whose own vector is the nearest; their mean cross-entropy.

        Every rank computes all of them: they are few, and each is told from all others.
        """
        batch = to_device(self.dev.batch(np.arange(len(self.dev)), DEV_EPOCH), world.device)
        losses, correct = told_apart(
            model(batch),
            self.model.targets(batch),
            batch.owners,
            len(batch.documents),
            self.recipe.temperature,
        )
        return {"accuracy": correct.double().mean().item(), "dev loss": losses.mean().item()}

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Do nothing: this task mines nothing."""

    def state(self) -> Mapping[str, Tensor]:
        """Nothing: :meth:`refresh` makes nothing that a checkpoint would need."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Do nothing, as :meth:`state` has nothing."""

    def flops(self, batch: HiddenVectors) -> float:
        """Floating-point operations of the encoder's layers."""
        return 3 * forward_flops(self.recipe.model, batch.documents)

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the encoder and the tokenizer as an artifact."""
        save_pretrained(folder, self.model.encoder, self.texts.tokenizer, meta)
