"""Masked language modelling as a task of the training engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.corpus.store import Corpus
from cocite.nn.layer_flops import layer_flops
from cocite.systems.masked_lm.examples import TokenHider
from cocite.systems.masked_lm.losses import text_losses
from cocite.systems.masked_lm.network import MaskedBatch, MaskedLanguageModel
from cocite.systems.masked_lm.recipe import MaskedLanguageModelRecipe
from cocite.systems.masked_lm.texts import PretrainingTexts, load_from_model_folder
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World

__all__ = ["MaskedLanguageModelRecipe", "MaskedLanguageModelTask", "build"]

DEV_EPOCH = 1 << 31
"""Number of the epoch whose draws hide tokens of dev texts, so that they are always the same."""


class MaskedLanguageModelTask:
    """A :class:`~cocite.training.engine.task.TrainTask`; an example is a piece of text.

    Args:
        recipe: settings.
        texts: the texts of the training and of the dev period.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.masked_lm.texts import prepare
        >>> recipe = MaskedLanguageModelRecipe.parse({"texts": {"vocabulary": 500}, "model": {"hidden": 8, "heads": 2}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = prepare(recipe.texts, starter_corpus(), Path(folder, "pretraining-texts"))
        ...     task = build(recipe, starter_corpus(), Path(folder))
        >>> task.loss(task.model, task.collate(np.arange(4), 0)).shape
        torch.Size([4])
    """

    metric = "accuracy"

    def __init__(self, recipe: MaskedLanguageModelRecipe, texts: PretrainingTexts) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.texts = recipe, texts
        tokenizer = texts.tokenizer
        self.hider = TokenHider(recipe.masking, tokenizer, recipe.training.seed)
        self.model = MaskedLanguageModel(recipe.model, len(tokenizer), tokenizer.pad_token_id)

    def lengths(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002  (the same in every epoch)
        """(n,) tokens of each piece, special ones included."""
        return self.texts.train.counts + np.int64(2)

    def collate(self, examples: Examples, epoch: int) -> MaskedBatch:
        """Some pieces with tokens hidden."""
        return self.hider.hide(self.texts.train, examples, epoch)

    def loss(self, model: nn.Module, batch: MaskedBatch) -> Tensor:
        """(b,) the mean cross-entropy over each piece's hidden tokens."""
        return text_losses(model(batch), batch)

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """Share of the dev texts' hidden tokens that are predicted correctly, and their mean cross-entropy."""
        pieces = self.texts.dev
        share = np.arange(len(pieces))[world.share(len(pieces))]
        sums = torch.zeros(3, dtype=torch.float64)
        # Pieces of like length together need hardly any padding.
        order = share[np.argsort(pieces.counts[share], kind="stable")]
        step = max(1, self.recipe.training.tokens // self.recipe.texts.sequence)
        for start in range(0, len(order), step):
            batch = self.hider.hide(pieces, order[start : start + step], DEV_EPOCH)
            batch = MaskedBatch(
                *(getattr(batch, name).to(world.device) for name in MaskedBatch.__annotations__)
            )
            logits = model(batch).float()
            loss = nn.functional.cross_entropy(logits, batch.answers, reduction="sum")
            correct = (logits.argmax(1) == batch.answers).sum()
            sums += torch.tensor([float(correct), float(loss), len(batch.answers)], dtype=torch.float64)
        total_correct, total_loss, count = world.sum(sums.to(world.device)).tolist()
        return {"accuracy": total_correct / count, "dev loss": total_loss / count}

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Do nothing: this task mines nothing."""

    def state(self) -> Mapping[str, Tensor]:
        """Nothing: :meth:`refresh` makes nothing that a checkpoint would need."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Do nothing, as :meth:`state` has nothing."""

    def flops(self, batch: MaskedBatch) -> float:
        """Floating-point operations of the layers, and of the head at the hidden tokens."""
        lengths = batch.mask.sum(1).double()
        shape = self.recipe.model
        layer = layer_flops(
            float(lengths.sum()), float(lengths.square().sum()), hidden=shape.hidden, inner=shape.inner
        )
        head = len(batch.answers) * 2 * shape.hidden * (shape.hidden + len(self.texts.tokenizer))
        return 3 * (shape.layers * layer + head)

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write encoder and tokenizer as a Hugging Face folder, an artifact."""
        self.model.save(folder, self.texts.tokenizer, meta)


def build(recipe: MaskedLanguageModelRecipe, corpus: Corpus, model_folder: Path) -> MaskedLanguageModelTask:
    """The task of a recipe, on the texts of the model folder.

    Args:
        recipe: settings.
        corpus: the papers.
        model_folder: has the texts.

    Raises:
        NotFoundError: the model folder has no texts.
    """
    return MaskedLanguageModelTask(recipe, load_from_model_folder(model_folder, corpus))
