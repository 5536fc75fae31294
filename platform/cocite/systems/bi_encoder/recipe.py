"""All settings of a bi-encoder's training."""

from __future__ import annotations

from typing import Literal

from cocite.bounds import Location, PositiveFactor, Power, ProperShare, Total
from cocite.config import Settings
from cocite.nn.pretrained_transformers import Layers
from cocite.systems.bi_encoder.citations import CitationTextSettings, CitationTokenSettings
from cocite.systems.sentence_encoder.pooling import Pooling
from cocite.training.engine.settings import TrainingSettings, WorkerSettings
from cocite.training.periods import PeriodSettings


class BiEncoderObjectiveSettings(Settings):
    """The softmax over all papers of a step.

    Example:
        >>> BiEncoderObjectiveSettings(scale=30).correction
        0.0
    """

    scale: PositiveFactor = 20.0
    """Cosines are multiplied by it: the inverse of the softmax's temperature."""
    correction: Power = 0.0
    """What share of the log of how often a paper is cited is taken from its scores: a paper that is cited much comes
    often as a negative of others, which 1 makes good in full."""
    later: Literal["used", "left_out"] = "left_out"
    """Whether papers that are later than the citing one count as its negatives."""


class BiEncoderRecipe(Settings):
    """All settings of a bi-encoder's training.

    Example:
        >>> recipe = BiEncoderRecipe.parse({"encoder": "masked-lm", "texts": {"task": "both"}})
        >>> recipe.texts.task, recipe.pooling
        ('both', 'mean')
    """

    kind: Literal["bi-encoder"] = "bi-encoder"
    encoder: Location = "sentence-transformers/all-MiniLM-L6-v2"
    """A name on the Hugging Face hub, or a folder with ``config.json``, safetensors and a tokenizer."""
    layers: Layers = None
    """Layers to keep: the first n, or every second (``alternate``)."""
    dropout: ProperShare | None = None
    """Of states and of attention weights; unset: the encoder's own."""
    pooling: Pooling = "mean"
    """How the states of a text's tokens become one vector."""
    period: PeriodSettings = PeriodSettings()
    """Whose citations are trained on, and whose are dev queries."""
    texts: CitationTextSettings = CitationTextSettings()
    dev_candidates: Total = 5000
    """Papers that dev queries are ranked among, those that they cite included; encoding all papers of a large corpus
    would take longer than the training."""
    objective: BiEncoderObjectiveSettings = BiEncoderObjectiveSettings()
    training: TrainingSettings = TrainingSettings()
    workers: WorkerSettings = WorkerSettings()

    @property
    def tokens(self) -> CitationTokenSettings:
        """What determines the tokens that are trained on; it reads the encoder's tokenizer.

        Raises:
            NotFoundError: there is no such encoder.
            InputError: its tokenizer cannot be used.
        """
        return CitationTokenSettings.of(self.period, self.texts, self.encoder)
