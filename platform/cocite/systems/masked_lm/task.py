"""Pretraining a small BERT on a corpus' own texts, for who has no pretrained weights at hand.

What is hidden in a text is a function of seed, epoch, the text's number and the token's place, drawn anew each epoch
(dynamic masking: Liu et al., 2019, section 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, model_validator
from torch import Tensor, nn

from cocite.bounds import Share
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import NotFoundError
from cocite.sampling.draws import mixed
from cocite.systems.masked_lm import texts as pretraining_texts
from cocite.systems.masked_lm.network import BertSettings, MaskedBatch, MaskedLanguageModel, losses
from cocite.systems.masked_lm.texts import Texts, TextSettings
from cocite.text.token_lists import TokenLists, spans
from cocite.training.engine.flops import layer_flops
from cocite.training.engine.settings import TrainingSettings, WorkerSettings
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World

TEXTS = "pretraining-texts"
"""Artifact of a model folder that holds what is pretrained on."""
DEV_EPOCH = 1 << 31
"""Number of the epoch whose draws hide tokens of dev texts: always the same."""


class MaskingSettings(Settings):
    """Which tokens are hidden, and how (Devlin et al., 2019, section 3.1)."""

    share: float = Field(0.15, gt=0, lt=1)
    """Of a text's tokens; at least one is."""
    masked: Share = 0.8
    """Share of the hidden ones that read [MASK]."""
    replaced: Share = 0.1
    """Share of the hidden ones that read another token, drawn evenly; the rest stay as they are."""

    @model_validator(mode="after")
    def _possible(self) -> MaskingSettings:
        if self.masked + self.replaced > 1:
            raise ValueError(f"masked is {self.masked} and replaced {self.replaced}, together above 1")
        return self


class MaskedLanguageModelRecipe(Settings):
    """All of a pretraining."""

    kind: Literal["masked-lm"] = "masked-lm"
    texts: TextSettings = TextSettings()
    model: BertSettings = BertSettings()
    masking: MaskingSettings = MaskingSettings()
    training: TrainingSettings = TrainingSettings()
    workers: WorkerSettings = WorkerSettings()

    @model_validator(mode="after")
    def _fitting(self) -> MaskedLanguageModelRecipe:
        if self.texts.sequence > self.model.positions:
            raise ValueError(
                f"texts.sequence is {self.texts.sequence}, and the model reads {self.model.positions} tokens "
                "(model.positions)"
            )
        return self


class MaskedLanguageModelTask:
    """See :class:`~cocite.training.engine.task.TrainTask`; an example is a piece of text.

    Args:
        recipe: settings.
        texts: what is pretrained on.
    """

    metric = "accuracy"

    def __init__(self, recipe: MaskedLanguageModelRecipe, texts: Texts) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.texts = recipe, texts
        tokenizer = texts.tokenizer
        self.model = MaskedLanguageModel(recipe.model, len(tokenizer), tokenizer.pad_token_id)

    def lengths(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002  (the same in every epoch)
        """(n,) tokens of each piece, special ones included."""
        return self.texts.train.counts + 2

    def collate(self, examples: Examples, epoch: int) -> MaskedBatch:
        """Some pieces with tokens hidden."""
        return self._batch(self.texts.train, examples, epoch)

    def _batch(self, pieces: TokenLists, examples: NDArray[np.int64], epoch: int) -> MaskedBatch:
        some, tokenizer = pieces.take(examples), self.texts.tokenizer
        counts = some.counts
        shape = (len(some), int(counts.max()) + 2)
        width = np.arange(shape[1])
        ids = np.full(shape, tokenizer.pad_token_id, np.int64)
        inner = (width > 0) & (width <= counts[:, None])
        ids[:, 0] = tokenizer.cls_token_id
        ids[inner] = some.ids[spans(some.starts, counts)]
        ids[np.arange(len(some)), counts + 1] = tokenizer.sep_token_id
        which, how, other = self._draws(examples, shape[1], epoch)
        which = np.where(inner, which, np.inf)
        hidden = (which < self.recipe.masking.share) | (which == which.min(axis=1, keepdims=True))
        answers = ids[hidden]
        masking = self.recipe.masking
        ids[hidden & (how < masking.masked)] = tokenizer.mask_token_id
        swapped = hidden & (how >= masking.masked) & (how < masking.masked + masking.replaced)
        ids[swapped] = (other[swapped] * len(tokenizer)).astype(np.int64)
        return MaskedBatch(
            torch.from_numpy(ids),
            torch.from_numpy(width <= counts[:, None] + 1),
            torch.from_numpy(hidden),
            torch.from_numpy(answers),
        )

    def _draws(self, examples: NDArray[np.int64], width: int, epoch: int) -> list[NDArray[Any]]:
        """Three numbers in [0, 1) of each token (b, width), functions of seed, epoch, example and place alone."""
        key = np.random.SeedSequence([self.recipe.training.seed, epoch]).generate_state(3, np.uint64)
        cell = (examples.astype(np.uint64)[:, None] << np.uint64(16)) + np.arange(width, dtype=np.uint64)
        return [(mixed(cell ^ part) >> np.uint64(11)) * 2.0**-53 for part in key]

    def loss(self, model: nn.Module, batch: MaskedBatch) -> Tensor:
        """(b,) the mean cross-entropy over each piece's hidden tokens."""
        return losses(model(batch), batch)

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """Share of the dev texts' hidden tokens that are told rightly, and their mean cross-entropy."""
        pieces = self.texts.dev
        mine = np.arange(len(pieces))[world.share(len(pieces))]
        sums = torch.zeros(3, dtype=torch.float64)
        order = mine[np.argsort(pieces.counts[mine], kind="stable")]
        step = max(1, self.recipe.training.tokens // self.recipe.texts.sequence)
        for start in range(0, len(order), step):
            batch = self._batch(pieces, order[start : start + step], DEV_EPOCH)
            batch = MaskedBatch(
                *(getattr(batch, name).to(world.device) for name in MaskedBatch.__annotations__)
            )
            logits = model(batch).float()
            loss = nn.functional.cross_entropy(logits, batch.answers, reduction="sum")
            right = (logits.argmax(1) == batch.answers).sum()
            sums += torch.tensor([float(right), float(loss), len(batch.answers)], dtype=torch.float64)
        right_, loss_, count = world.sum(sums.to(world.device)).tolist()
        return {"accuracy": right_ / count, "dev loss": loss_ / count}

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Nothing is mined."""

    def state(self) -> Mapping[str, Tensor]:
        """Nothing is made as training goes."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Takes back nothing."""

    def flops(self, batch: MaskedBatch) -> float:
        """Of the layers, and of the head at the hidden tokens."""
        lengths = batch.mask.sum(1).double()
        shape = self.recipe.model
        layer = layer_flops(
            float(lengths.sum()), float(lengths.square().sum()), hidden=shape.hidden, inner=shape.inner
        )
        head = len(batch.answers) * 2 * shape.hidden * (shape.hidden + len(self.texts.tokenizer))
        return 3 * (shape.layers * layer + head)

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write encoder and tokenizer as a Hugging Face folder."""
        self.model.save(folder, self.texts.tokenizer, meta)


def build(recipe: MaskedLanguageModelRecipe, corpus: Corpus, model_folder: Path) -> MaskedLanguageModelTask:
    """The task of a recipe, on the texts of the model folder.

    Raises:
        NotFoundError: the model folder holds no texts.
    """
    folder = Path(model_folder) / TEXTS
    if not folder.is_dir():
        raise NotFoundError(
            "holds no texts to pretrain on",
            where=str(model_folder),
            hint="train with `cocite train`, which makes them",
        )
    return MaskedLanguageModelTask(recipe, pretraining_texts.load(folder, corpus))
