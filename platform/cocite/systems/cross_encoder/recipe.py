"""All settings of a cross-encoder's training."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from cocite.bounds import Location, PositiveShare, ProperShare
from cocite.config import Settings
from cocite.nn.pretrained_transformers import Layers
from cocite.systems.cross_encoder.examples import GroupSettings
from cocite.systems.cross_encoder.network import SCIBERT, Readout
from cocite.systems.cross_encoder.pair_tokens import PairTokenSettings
from cocite.text.pair_tokenizer import PairSettings
from cocite.training.candidates import CandidateSettings
from cocite.training.engine.settings import TrainingSettings, WorkerSettings
from cocite.training.stages import Keep


class ObjectiveSettings(GroupSettings):
    """The loss, and the candidates that it is taken over.

    Example:
        >>> ObjectiveSettings(loss="pointwise", candidates="top", top=10).width
        10
    """

    loss: Literal["triplet", "pointwise", "listwise"] = "triplet"
    """``triplet``: each cited candidate above each other one by ``margin`` (HAtten, Eq. 3). ``pointwise``: each
    candidate's cross-entropy by itself (Nogueira et al., Eq. 1). ``listwise``: softmax over the group."""
    margin: PositiveShare = 0.1
    """m, between relevances in [0, 1] (``triplet``)."""


class CrossEncoderRecipe(Settings):
    """All settings of a cross-encoder's training.

    Example:
        >>> recipe = CrossEncoderRecipe.parse({"kind": "cross-encoder", "readout": "similarity"}, where="recipe.yaml")
        >>> recipe.pairs.total, recipe.objective.loss
        (512, 'triplet')
    """

    kind: Literal["cross-encoder"] = "cross-encoder"
    encoder: Location = SCIBERT
    """The pretrained encoder: a name on the Hugging Face hub, or a folder."""
    layers: Layers = None
    """Layers to keep: the first n, or every second (``alternate``)."""
    readout: Readout = "first"
    """``first``: a linear layer over the first token's state, as in the papers. ``similarity``: that plus the cosine of
    the two sides, by which a sentence encoder orders candidates even untrained: far better with little training."""
    dropout: ProperShare | None = None
    """Dropout of states and attention weights; unset: the encoder's own; 0 lets the fast attention kernel run."""
    pairs: PairSettings = PairSettings()
    candidates: CandidateSettings = CandidateSettings()
    objective: ObjectiveSettings = ObjectiveSettings()
    training: TrainingSettings = TrainingSettings()
    workers: WorkerSettings = WorkerSettings()
    keep: Keep = "unless_below"
    """Whether a cross-encoder that is below its retriever on dev is left out of the pipeline, or kept (``always``)."""

    @property
    def tokens(self) -> PairTokenSettings:
        """What determines the tokens that are trained on; it reads the encoder's tokenizer.

        Raises:
            NotFoundError: there is no such encoder.
            InputError: its tokenizer cannot be used.
        """
        whole = self.objective.random > 0
        return PairTokenSettings.of(self.candidates, self.encoder, self.pairs, whole=whole)

    @model_validator(mode="after")
    def _possible(self) -> CrossEncoderRecipe:
        if self.pairs.layout == "local" and self.candidates.task == "global":
            raise ValueError("pairs.layout: local needs contexts, and candidates.task: global has none")
        deepest = self.objective.top if self.objective.candidates == "top" else 2
        if self.candidates.depth < deepest:
            raise ValueError("candidates.depth is less than objective.top")
        return self
