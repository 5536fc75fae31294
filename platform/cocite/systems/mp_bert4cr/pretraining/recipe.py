"""All settings of a hierarchical pretraining."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from cocite.bounds import Total
from cocite.config import Settings
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalSettings
from cocite.systems.mp_bert4cr.pretraining.examples import DocumentSettings, HidingSettings
from cocite.systems.mp_bert4cr.sentence_texts import SentenceTextSettings
from cocite.systems.mp_bert4cr.sentence_vectors import SentenceVectorSettings
from cocite.systems.mp_bert4cr.token_vectors import InitialTokenVectorSettings, TokenVectorSettings
from cocite.systems.mp_bert4cr.token_weights import TokenWeightSettings
from cocite.training.engine.settings import TrainingSettings, WorkerSettings


class HierarchicalPretrainingRecipe(Settings):
    """All settings of a hierarchical pretraining.

    Example:
        >>> recipe = HierarchicalPretrainingRecipe.parse({"hiding": {"share": 0.2}, "decoder_layers": 2})
        >>> recipe.hiding.masked, recipe.model.sentence_layers
        (0.8, 6)
        >>> HierarchicalPretrainingRecipe.parse({"documents": {"sentences": 80}})
        Traceback (most recent call last):
        cocite.errors.ConfigError: documents.sentences is 80, and the model reads 64
    """

    kind: Literal["mp-bert4cr-pretraining"] = "mp-bert4cr-pretraining"
    texts: SentenceTextSettings = SentenceTextSettings()
    """Papers of the training period are read; those of the dev period give the dev metric."""
    predict: Literal["words", "vectors"] = "words"
    """What is predicted of a hidden sentence: its ``words``, by a decoder, as in HIBERT; or its vector of the frozen
    trunk (``texts.trunk``), among those of the other hidden sentences of the step."""
    contexts: DynamicContextSettings = DynamicContextSettings()
    """Of what documents consist where vectors are predicted: as in fine-tuning."""
    dev_contexts: Total = 1000
    """As in fine-tuning, so that both have the same sentence vectors."""
    temperature: float = Field(0.1, gt=0, le=100)
    """By which cosines are divided where vectors are predicted."""
    documents: DocumentSettings = DocumentSettings()
    """How papers are cut where words are predicted; ``dev`` in either case."""
    hiding: HidingSettings = HidingSettings()
    words: TokenVectorSettings = TokenVectorSettings()
    """Initial word vectors."""
    model: HierarchicalSettings = HierarchicalSettings()
    decoder_layers: int = Field(6, ge=1, le=1000)
    training: TrainingSettings = TrainingSettings()
    workers: WorkerSettings = WorkerSettings()

    @property
    def token_vectors(self) -> InitialTokenVectorSettings | None:
        """What determines the initial vectors of word pieces; None where they are random."""
        return InitialTokenVectorSettings.of(self.texts, self.words, self.model.hidden)

    @property
    def token_weights(self) -> TokenWeightSettings | None:
        """What determines the weights of word pieces; None where they have none."""
        return TokenWeightSettings(texts=self.texts) if self.words.idf else None

    @property
    def sentence_vectors(self) -> SentenceVectorSettings | None:
        """What determines the vectors of sentences by a frozen trunk; None where none are read."""
        if self.predict == "words":
            return None
        return SentenceVectorSettings.of(self.texts, self.contexts, self.dev_contexts)

    @model_validator(mode="after")
    def _fitting(self) -> HierarchicalPretrainingRecipe:
        reads_trunk = self.texts.trunk.is_there and self.model.reads != "words"
        if self.predict == "vectors" and not reads_trunk:
            raise ValueError("predict is vectors, of which there are none (texts.trunk.encoder, model.reads)")
        if self.predict == "words" and self.model.reads == "trunk":
            raise ValueError("predict is words, and model.reads is trunk: set model.reads to words or both")
        for name, asked, read in (
            ("texts.sentence_tokens", self.texts.sentence_tokens, self.model.sentence_tokens),
            ("documents.sentences", self.documents.sentences, self.model.sentences),
        ):
            if asked > read:
                raise ValueError(f"{name} is {asked}, and the model reads {read}")
        return self
