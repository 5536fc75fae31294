"""All settings of a masked-language training."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from cocite.bounds import Share
from cocite.config import Settings
from cocite.systems.masked_lm.network import BertSettings
from cocite.systems.masked_lm.texts import TextSettings
from cocite.training.engine.settings import TrainingSettings, WorkerSettings


class MaskingSettings(Settings):
    """Which tokens are hidden, and how (Devlin et al. 2019, section 3.1).

    Example:
        >>> MaskingSettings(masked=1.0, replaced=0.0).share
        0.15
        >>> MaskingSettings.parse({"masked": 0.8, "replaced": 0.3})
        Traceback (most recent call last):
        cocite.errors.ConfigError: masked is 0.8 and replaced 0.3, together above 1
    """

    share: float = Field(0.15, gt=0, lt=1)
    """Share of a text's tokens that are hidden; at least one is."""
    masked: Share = 0.8
    """Share of the hidden tokens that are replaced by [MASK]."""
    replaced: Share = 0.1
    """Share of the hidden tokens that are replaced by another token, drawn evenly; the rest are unchanged."""

    @model_validator(mode="after")
    def _possible(self) -> MaskingSettings:
        if self.masked + self.replaced > 1:
            raise ValueError(f"masked is {self.masked} and replaced {self.replaced}, together above 1")
        return self


class MaskedLanguageModelRecipe(Settings):
    """All settings of a masked-language training.

    Example:
        >>> MaskedLanguageModelRecipe.parse({"texts": {"sequence": 64}}).model.positions
        512
        >>> MaskedLanguageModelRecipe.parse({"texts": {"sequence": 600}})
        Traceback (most recent call last):
        cocite.errors.ConfigError: texts.sequence is 600, and the model reads 512 tokens (model.positions)
    """

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
