"""Training as jobs: a recipe and a corpus in, an artifact of the model folder out.

What can be trained is a table, :data:`KINDS`: a kind of recipe, its settings, and the function that trains it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cocite.config import Settings, read_yaml, with_overrides
from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, NotFoundError, nearest

RECIPES = Path(__file__).parent / "recipes"

KINDS: dict[str, tuple[str, str, str]] = {
    "nnselect": ("cocite.training.nnselect", "NNSelectRecipe", "cocite_jobs.train_citeomatic:train_nnselect"),
    "nnrank": ("cocite.training.nnrank", "NNRankRecipe", "cocite_jobs.train_citeomatic:train_nnrank"),
    "sentence": ("cocite.models.sentence", "SentenceRecipe", "cocite_jobs.train_sentence:train_sentence"),
    "fusion": ("cocite.pipeline.fusion_training", "FusionRecipe", "cocite_jobs.train_fusion:train_fusion"),
    "final": ("cocite.pipeline.fusion_training", "FinalRecipe", "cocite_jobs.train_fusion:train_final"),
}
"""Kind -> (module and name of its settings, ``module:function`` that trains). Named by string: imported when used."""


def silent(*_: object) -> None:
    """Tells nobody."""


@dataclass
class Report:
    """Whom a training tells of its progress.

    Attributes:
        log: metrics of an epoch, and its number.
        stage: what begins now, and of how many batches it is (0: unknown).
        advance: batches done.
    """

    log: Callable[[dict[str, float], int], None] = silent
    stage: Callable[[str, int], None] = silent
    advance: Callable[[int], None] = silent


@dataclass(frozen=True)
class Trained:
    """What a training gives back.

    Attributes:
        folder: the artifact it wrote.
        metrics: dev metrics of what was kept.
        details: anything else worth telling (epochs, seconds, sizes).
    """

    folder: Path
    metrics: dict[str, float]
    details: dict[str, Any] = field(default_factory=dict)


class Trainer(Protocol):
    """Trains one kind of recipe: ``(recipe, corpus, model folder, report, fresh) -> Trained``."""

    def __call__(
        self, recipe: Any, corpus: Corpus, to: Path, report: Report, *, fresh: bool = False
    ) -> Trained:
        """Train and write ``to/<kind>``; with ``fresh``, an unfinished training's checkpoint is not taken up."""
        ...


def shipped() -> list[str]:
    """Names of the recipes that come with cocite and can be trained here."""
    return sorted(path.stem for path in RECIPES.glob("*.yaml"))


def recipe_path(name: str) -> Path:
    """The file of a recipe, given the name of a shipped one or a path."""
    path = Path(name)
    if not path.suffix and (RECIPES / f"{name}.yaml").is_file():
        path = RECIPES / f"{name}.yaml"
    if not path.is_file():
        raise NotFoundError(f"no recipe {name!r}", where="RECIPE", hint=nearest(name, shipped()))
    return path


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Settings:
    """A recipe by the name of a shipped one or by its path, with ``key.path=value`` overrides."""
    path = recipe_path(name)
    data = read_yaml(path)
    kind = data.get("kind")
    if kind not in KINDS:
        raise ConfigError(
            f"kind: {kind!r} cannot be trained", where=str(path), hint=nearest(str(kind), KINDS)
        )
    module, settings, _ = KINDS[kind]
    cls: type[Settings] = getattr(importlib.import_module(module), settings)
    return cls.parse(with_overrides(data, overrides), where=str(path))


def train(
    recipe: Settings, corpus: Corpus, to: Path, report: Report | None = None, *, fresh: bool = False
) -> Trained:
    """Train what a recipe's kind says."""
    module, function = KINDS[recipe.kind][2].split(":")  # type: ignore[attr-defined]
    trainer: Trainer = getattr(importlib.import_module(module), function)
    return trainer(recipe, corpus, Path(to), report or Report(), fresh=fresh)


def fingerprint(recipe: Settings, corpus: Corpus, *more: str) -> str:
    """What a checkpoint belongs to: recipe, corpus, and whatever else the weights depend on."""
    data = json.dumps(recipe.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256("\n".join([data, corpus.version, *more]).encode()).hexdigest()[:16]
