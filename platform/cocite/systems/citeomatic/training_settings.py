"""The shared part of NNSelect's and NNRank's recipes: the defaults of their training, and keys of earlier versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from cocite.bounds import (
    Epochs,
    GradientNorm,
    Interval,
    LearningRate,
    Penalty,
    PositiveSmallCount,
    ProperShare,
    SmallCount,
    Total,
)
from cocite.config import Settings, with_values
from cocite.training.engine.settings import (
    OptimizerSettings,
    ScheduleSettings,
    TrainingSettings,
    WorkerSettings,
)

RENAMED: Mapping[str, str] = {
    "loop.epochs": "training.epochs",
    "loop.patience": "training.patience",
    "loop.minutes": "training.minutes",
    "loop.seed": "training.seed",
    "loop.learning_rate": "training.optimizer.learning_rate",
    "loop.clip": "training.optimizer.clip",
    "loop.decay": "training.schedule.plateau",
    "objective.batch": "training.batch",
}
"""Key of a recipe of an earlier version -> key that took its place."""


class AdamSettings(OptimizerSettings):
    """Adam as the paper uses it: without weight decay, and unclipped.

    Example:
        >>> AdamSettings().learning_rate, AdamSettings().weight_decay
        (0.01, 0.0)
    """

    learning_rate: LearningRate = 0.01
    weight_decay: Penalty = 0.0
    clip: GradientNorm = 0.0


class ConstantRateSettings(ScheduleSettings):
    """One learning rate from the first step to the last, unless ``plateau`` lowers it.

    Example:
        >>> from cocite.training.engine.schedule import rate_factor
        >>> [rate_factor(ConstantRateSettings(), step, 100) for step in (0, 99)]
        [1.0, 1.0]
    """

    shape: Literal["constant", "linear", "cosine", "inverse-square-root"] = "constant"
    warmup: Interval | ProperShare = 0


class CiteomaticTrainingSettings(TrainingSettings):
    """The engine's settings with Citeomatic's defaults.

    Example:
        >>> settings = CiteomaticTrainingSettings.parse({"optimizer": {"learning_rate": 0.003}})
        >>> settings.epochs, settings.optimizer.weight_decay, settings.schedule.shape
        (10, 0.0, 'constant')
    """

    epochs: Epochs = 10
    patience: Interval = 3
    """Stop after so many evaluations without a better dev metric, the start's included; 0: never."""
    tokens: Total = 20_000_000
    """Words of one forward pass on one worker: a step is one pass unless it is huge."""
    backend: Literal["plain", "ddp"] = "plain"
    """DeepSpeed cannot exchange the sparse gradients of the word vectors."""
    optimizer: AdamSettings = AdamSettings()
    schedule: ConstantRateSettings = ConstantRateSettings()

    @property
    def is_lazy(self) -> bool:
        """Whether a step changes only the rows of tables that its batch used (the paper's LazyAdam)."""
        return self.optimizer.name == "adamw"


class InProcessSettings(WorkerSettings):
    """The processes that train: this one, unless ``count`` says how many workers Ray starts.

    Example:
        >>> InProcessSettings().count
        0
    """

    count: SmallCount | tuple[PositiveSmallCount, PositiveSmallCount] = 0
    """Workers under Ray Train; 0: this process. A pair is the range of an elastic run."""


class CiteomaticRecipe(Settings):
    """The part that both recipes share; see :class:`~cocite.systems.citeomatic.nnselect.recipe.NNSelectRecipe`.

    Example:
        >>> class Recipe(CiteomaticRecipe):
        ...     training: CiteomaticTrainingSettings = CiteomaticTrainingSettings()
        >>> Recipe.parse({"loop": {"epochs": 3}}).training.epochs
        3
    """

    workers: InProcessSettings = InProcessSettings()

    @classmethod
    def with_present_keys(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """See :meth:`Settings.with_present_keys`: done before errors are worded, they name the present keys."""
        renamed: Mapping[str, Any] = with_new_keys(data)
        return renamed


def with_new_keys(data: Any) -> Any:
    """A recipe's data with the keys of earlier versions under their present names.

    Manifests of trained models hold recipes, so those of earlier versions are read for as long as their models are.

    Example:
        >>> with_new_keys({"loop": {"epochs": 3, "learning_rate": 0.02}, "objective": {"batch": 64, "gamma": 1.0}})
        {'objective': {'gamma': 1.0}, 'training': {'epochs': 3, 'optimizer': {'learning_rate': 0.02}, 'batch': 64}}
    """
    if not isinstance(data, Mapping):
        return data
    result = dict(data)
    moved: dict[str, Any] = {}
    if isinstance(loop := result.get("loop", 0), Mapping | type(None)):
        loop = result.pop("loop") or {}
        # A misspelt key is refused as one of `training`, with the right one.
        moved |= {RENAMED.get(f"loop.{key}", f"training.{key}"): value for key, value in loop.items()}
    if isinstance(objective := result.get("objective"), Mapping) and "batch" in objective:
        result["objective"] = {key: value for key, value in objective.items() if key != "batch"}
        moved[RENAMED["objective.batch"]] = objective["batch"]
    return with_values(result, moved) if result.keys() != data.keys() or moved else data
