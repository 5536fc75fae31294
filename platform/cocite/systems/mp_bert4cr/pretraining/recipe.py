"""All settings of a hierarchical pretraining."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from cocite.config import Settings
from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalSettings
from cocite.systems.mp_bert4cr.pretraining.examples import DocumentSettings, HidingSettings
from cocite.systems.mp_bert4cr.sentence_texts import SentenceTextSettings
from cocite.systems.mp_bert4cr.token_vectors import TokenVectorSettings
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
    documents: DocumentSettings = DocumentSettings()
    hiding: HidingSettings = HidingSettings()
    words: TokenVectorSettings = TokenVectorSettings()
    """Initial word vectors."""
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
