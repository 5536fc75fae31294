"""Pretraining MP-BERT4CR's encoder on a corpus' own papers: it predicts hidden sentences from the rest of the document.

HIBERT (Zhang, Wei, Zhou 2019, section 3.2), which MP-BERT4CR adapts (section 4).

The softmax over all words is computed for hidden tokens alone. At 16,000 words and a width of 192 it costs 6 MFLOP a
token forward, so with 15 % hidden about as much as one layer over all tokens: a sampled softmax would save less than
half of a step, and is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.nn.layer_flops import layer_flops
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.pretraining.examples import DocumentSpans, SentenceHider
from cocite.systems.mp_bert4cr.pretraining.losses import document_losses
from cocite.systems.mp_bert4cr.pretraining.network import (
    HiddenSentences,
    HierarchicalPretrainer,
    save_pretrained,
)
from cocite.systems.mp_bert4cr.pretraining.recipe import HierarchicalPretrainingRecipe
from cocite.systems.mp_bert4cr.pretraining.vector_task import VectorPretrainingTask
from cocite.systems.mp_bert4cr.sentence_texts import load_from_model_folder
from cocite.systems.mp_bert4cr.sentence_vectors import standardise, with_sentence_vectors
from cocite.systems.mp_bert4cr.token_vectors import token_vectors
from cocite.systems.mp_bert4cr.token_weights import token_weights
from cocite.text.sentence_texts import SentenceTexts
from cocite.training.engine.loader import to_device
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World
from cocite.training.periods import Periods

__all__ = ["HierarchicalPretrainingRecipe", "HierarchicalPretrainingTask", "build"]

DEV_EPOCH = 1 << 31
"""Number of the epoch whose draws hide sentences of dev documents, so that they are always the same."""


class HierarchicalPretrainingTask:
    """A :class:`~cocite.training.engine.task.TrainTask`; an example is a document.

    Args:
        recipe: settings.
        periods: the papers that are trained on, and the dev papers.
        texts: of the corpus.

    Raises:
        InputError: the papers of a period have too few sentences.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build as build_corpus
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.systems.mp_bert4cr.sentence_texts import prepare
        >>> shape = {"sentence_layers": 1, "document_layers": 1, "hidden": 8, "heads": 2, "inner": 16}
        >>> recipe = HierarchicalPretrainingRecipe.parse({"texts": {"vocabulary": 400}, "model": shape,
        ...                                               "decoder_layers": 1, "documents": {"least": 2}})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_corpus(Synthetic(60, seed=4, context_rate=2.0, sentences=True), Path(folder, "corpus"))
        ...     _ = prepare(recipe.texts, corpus, Path(folder, "sentence-texts"))
        ...     task = build(recipe, corpus, Path(folder))
        >>> task.loss(task.model, task.collate(np.arange(4), 0)).shape
        torch.Size([4])
    """

    metric = "accuracy"

    def __init__(self, recipe: HierarchicalPretrainingRecipe, periods: Periods, texts: SentenceTexts) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.texts = recipe, texts
        self.documents = DocumentSpans.of(texts, np.flatnonzero(periods.history.citing), recipe.documents)
        self.dev = DocumentSpans.of(texts, periods.dev, recipe.documents).spread(recipe.documents.dev)
        for name, documents in (("training", self.documents), ("dev", self.dev)):
            if not len(documents):
                raise InputError(
                    f"no paper of the {name} period has {recipe.documents.least} sentences",
                    where=str(periods.history.corpus.path),
                )
        self.hider = SentenceHider(recipe.hiding, texts, self.documents)
        self.model = HierarchicalPretrainer(
            recipe.model, recipe.decoder_layers, len(texts.tokenizer), self.hider.begin
        )
        self._lengths = self.hider.tokens(self.documents)

    def lengths(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002  (the same in every epoch)
        """(n,) tokens of each document."""
        return self._lengths

    def collate(self, examples: Examples, epoch: int) -> HiddenSentences:
        """Some documents with sentences hidden."""
        draws = Draws(self.recipe.training.seed, epoch, examples)
        return self.hider.hide(self.documents.take(examples), draws)

    def loss(self, model: nn.Module, batch: HiddenSentences) -> Tensor:
        """(b,) the mean cross-entropy over each document's hidden tokens."""
        token_losses, _ = model(batch)
        return document_losses(token_losses, batch)

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """Share of the hidden dev tokens that are predicted correctly, given those before; their mean cross-entropy."""
        share = np.arange(len(self.dev))[world.share(len(self.dev))]
        sums = torch.zeros(3, dtype=torch.float64)
        step = max(1, self.recipe.training.tokens * len(self.dev) // int(self.hider.tokens(self.dev).sum()))
        for start in range(0, len(share), step):
            numbers = share[start : start + step]
            batch = self.hider.hide(self.dev.take(numbers), Draws(0, DEV_EPOCH, numbers))
            losses, correct = model(to_device(batch, world.device))
            sums += torch.tensor([correct.sum(), losses.double().sum(), len(losses)], dtype=torch.float64)
        total_correct, loss, count = world.sum(sums.to(world.device)).tolist()
        return {"accuracy": total_correct / count, "dev loss": loss / count}

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Do nothing: this task mines nothing."""

    def state(self) -> Mapping[str, Tensor]:
        """Nothing: :meth:`refresh` makes nothing that a checkpoint would need."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Do nothing, as :meth:`state` has nothing."""

    def flops(self, batch: HiddenSentences) -> float:
        """Floating-point operations of both levels of the encoder, of the decoder, and of the softmax."""
        s, hidden_lengths = self.recipe.model, batch.bounds.diff()
        forward = len(batch.answers) * 2.0 * s.hidden * len(self.texts.tokenizer)
        forward += len(batch.hidden) * 2.0 * s.hidden**2 * self.recipe.decoder_layers
        for layers, lengths in (
            (s.sentence_layers, batch.documents.lengths),
            (s.document_layers, batch.documents.document_lengths),
            (self.recipe.decoder_layers, hidden_lengths),
        ):
            squares = float(lengths.double().square().sum())
            forward += layers * layer_flops(float(lengths.sum()), squares, hidden=s.hidden, inner=s.inner)
        return 3 * forward

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the encoder and the tokenizer as an artifact."""
        save_pretrained(folder, self.model.encoder, self.texts.tokenizer, meta)


def build(
    recipe: HierarchicalPretrainingRecipe, corpus: Corpus, model_folder: Path
) -> HierarchicalPretrainingTask | VectorPretrainingTask:
    """The task of a recipe, on the sentences of the model folder: hidden words are predicted, or hidden vectors.

    Args:
        recipe: settings.
        corpus: the papers.
        model_folder: has the sentences and, where the recipe names them so, word vectors and sentence vectors.

    Raises:
        NotFoundError: the model folder has no sentences.
        InputError: the papers of a period have too few.
    """
    texts = load_from_model_folder(model_folder, corpus)
    periods = Periods.of(corpus, recipe.texts.period)
    recipe, texts = with_sentence_vectors(recipe, corpus, model_folder, texts)
    task: HierarchicalPretrainingTask | VectorPretrainingTask = (
        HierarchicalPretrainingTask(recipe, periods, texts)
        if recipe.predict == "words"
        else VectorPretrainingTask(recipe, periods, texts)
    )
    standardise(task.model.encoder, texts)
    words = task.model.encoder.words
    if recipe.token_vectors is not None:
        vectors = token_vectors(model_folder, corpus, recipe.token_vectors, len(texts.tokenizer))
        words.mix_in(torch.tensor(vectors))
    if recipe.token_weights is not None:
        weights = token_weights(model_folder, corpus, recipe.token_weights, len(texts.tokenizer))
        words.scale(torch.tensor(weights))
    words.weight.requires_grad_(recipe.words.trained and recipe.model.reads != "trunk")
    return task
