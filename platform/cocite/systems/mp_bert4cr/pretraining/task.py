"""Pretraining MP-BERT4CR's encoder on a corpus' own papers: hidden sentences are told from the rest of the document.

HIBERT (Zhang, Wei, Zhou 2019, section 3.2), which MP-BERT4CR adapts (section 4).

The softmax over all words is paid for hidden tokens alone. At 16,000 words and a width of 192 it costs 6 MFLOP a token
forward, so with 15 % hidden about as much as one layer over all tokens: a sampled softmax would save less than half of
a step, and is left out.
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

from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.build import sentences_of
from cocite.systems.mp_bert4cr.hierarchical import HierarchicalSettings
from cocite.systems.mp_bert4cr.pretraining.examples import DocumentSettings, Hiding, HidingSettings, Pieces
from cocite.systems.mp_bert4cr.pretraining.network import (
    HiddenSentences,
    HierarchicalPretrainer,
    save_pretrained,
)
from cocite.systems.mp_bert4cr.sentence_texts import SentenceTextSettings
from cocite.systems.mp_bert4cr.token_vectors import (
    TokenVectorSettings,
    inverse_document_frequency,
    token_vectors,
)
from cocite.text.sentence_texts import SentenceTexts
from cocite.training.engine.flops import layer_flops
from cocite.training.engine.loader import to_device
from cocite.training.engine.settings import TrainingSettings, WorkerSettings
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World
from cocite.training.periods import Periods

DEV_EPOCH = 1 << 31
"""Number of the epoch whose draws hide sentences of dev documents: always the same."""


class HierarchicalPretrainingRecipe(Settings):
    """All of a pretraining."""

    kind: Literal["mp-bert4cr-pretraining"] = "mp-bert4cr-pretraining"
    texts: SentenceTextSettings = SentenceTextSettings()
    """Papers of the training period are read; those of the dev period measure."""
    documents: DocumentSettings = DocumentSettings()
    hiding: HidingSettings = HidingSettings()
    words: TokenVectorSettings = TokenVectorSettings()
    """What word vectors begin as."""
    model: HierarchicalSettings = HierarchicalSettings()
    decoder_layers: int = Field(6, ge=1, le=1000)
    training: TrainingSettings = TrainingSettings()
    workers: WorkerSettings = WorkerSettings()

    @model_validator(mode="after")
    def _fitting(self) -> HierarchicalPretrainingRecipe:
        for name, asked, read in (
            ("texts.sentence_tokens", self.texts.sentence_tokens, self.model.sentence_tokens),
            ("documents.sentences", self.documents.sentences, self.model.sentences),
        ):
            if asked > read:
                raise ValueError(f"{name} is {asked}, and the model reads {read}")
        return self


class HierarchicalPretrainingTask:
    """See :class:`~cocite.training.engine.task.TrainTask`; an example is a document.

    Args:
        recipe: settings.
        periods: whose papers are trained on, and whose measure.
        texts: of the corpus.

    Raises:
        InputError: the papers of a period have too few sentences.
    """

    metric = "accuracy"

    def __init__(self, recipe: HierarchicalPretrainingRecipe, periods: Periods, texts: SentenceTexts) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.texts = recipe, texts
        self.pieces = Pieces.of(texts, np.flatnonzero(periods.history.citing), recipe.documents)
        self.dev = Pieces.of(texts, periods.dev, recipe.documents).spread(recipe.documents.dev)
        for name, pieces in (("training", self.pieces), ("dev", self.dev)):
            if not len(pieces):
                raise InputError(
                    f"no paper of the {name} period has {recipe.documents.least} sentences",
                    where=str(periods.history.corpus.path),
                )
        self.hiding = Hiding(recipe.hiding, texts, self.pieces)
        self.model = HierarchicalPretrainer(
            recipe.model, recipe.decoder_layers, len(texts.tokenizer), self.hiding.begin
        )
        self._lengths = self.hiding.tokens(self.pieces)

    def lengths(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002  (the same in every epoch)
        """(n,) tokens of each document."""
        return self._lengths

    def collate(self, examples: Examples, epoch: int) -> HiddenSentences:
        """Some documents with sentences hidden."""
        draws = Draws(self.recipe.training.seed, epoch, examples)
        return self.hiding.hide(self.pieces.take(examples), draws)

    def loss(self, model: nn.Module, batch: HiddenSentences) -> Tensor:
        """(b,) the mean cross-entropy over each document's hidden tokens."""
        losses, _ = model(batch)
        document = torch.searchsorted(batch.documents.documents, batch.hidden, right=True) - 1
        owner = document.repeat_interleave(batch.bounds.diff(), output_size=len(losses))
        count = torch.bincount(owner, minlength=len(batch.documents))
        found: Tensor = losses.new_zeros(len(count)).index_add(0, owner, losses / count[owner])
        return found

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """Share of the hidden dev tokens that are told rightly, given those before, and their mean cross-entropy."""
        mine = np.arange(len(self.dev))[world.share(len(self.dev))]
        sums = torch.zeros(3, dtype=torch.float64)
        step = max(1, self.recipe.training.tokens * len(self.dev) // int(self.hiding.tokens(self.dev).sum()))
        for start in range(0, len(mine), step):
            some = mine[start : start + step]
            batch = self.hiding.hide(self.dev.take(some), Draws(0, DEV_EPOCH, some))
            losses, right = model(to_device(batch, world.device))
            sums += torch.tensor([right.sum(), losses.double().sum(), len(losses)], dtype=torch.float64)
        right_, loss, count = world.sum(sums.to(world.device)).tolist()
        return {"accuracy": right_ / count, "dev loss": loss / count}

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Nothing is mined."""

    def state(self) -> Mapping[str, Tensor]:
        """Nothing is made as training goes."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Takes back nothing."""

    def flops(self, batch: HiddenSentences) -> float:
        """Of both levels of the encoder, of the decoder, and of the softmax."""
        s, told = self.recipe.model, batch.bounds.diff()
        forward = len(batch.answers) * 2.0 * s.hidden * len(self.texts.tokenizer)
        forward += len(batch.hidden) * 2.0 * s.hidden**2 * self.recipe.decoder_layers
        for layers, lengths in (
            (s.sentence_layers, batch.documents.lengths),
            (s.document_layers, batch.documents.document_lengths),
            (self.recipe.decoder_layers, told),
        ):
            squares = float(lengths.double().square().sum())
            forward += layers * layer_flops(float(lengths.sum()), squares, hidden=s.hidden, inner=s.inner)
        return 3 * forward

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the encoder and the tokenizer."""
        save_pretrained(folder, self.model, self.texts.tokenizer, meta)


def build(
    recipe: HierarchicalPretrainingRecipe, corpus: Corpus, model_folder: Path
) -> HierarchicalPretrainingTask:
    """The task of a recipe, on the sentences of the model folder.

    Raises:
        NotFoundError: the model folder holds no sentences.
        InputError: the papers of a period have too few.
    """
    texts = sentences_of(corpus, model_folder)
    periods = Periods.of(corpus, recipe.texts.period)
    task = HierarchicalPretrainingTask(recipe, periods, texts)
    words = task.model.encoder.words
    if recipe.words.source == "corpus":
        vectors = token_vectors(recipe.words, periods.history, texts, recipe.model.hidden, Path(model_folder))
        words.start(torch.from_numpy(vectors))
    if recipe.words.idf:
        words.weigh(torch.from_numpy(inverse_document_frequency(texts)))
    words.weight.requires_grad_(recipe.words.trained)
    return task
