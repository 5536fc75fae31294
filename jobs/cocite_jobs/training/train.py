"""Training as jobs: a recipe and a corpus in, an artifact of the model folder out.

What can be trained is a table, :data:`KINDS`: a kind of recipe, its settings, and the function that trains it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from cocite.config import Settings, read_yaml
from cocite.corpus.store import Corpus
from cocite.destinations import check_folder_destination
from cocite.errors import ConfigError, InputError, NotFoundError, nearest
from cocite.write_errors import writing_to

RECIPES = Path(__file__).parents[1] / "recipes"

KINDS: dict[str, tuple[str, str, str]] = {
    "nnselect": (
        "cocite.systems.citeomatic.nnselect_task",
        "NNSelectRecipe",
        "cocite_jobs.training.citeomatic:train_nnselect",
    ),
    "nnrank": (
        "cocite.systems.citeomatic.nnrank_task",
        "NNRankRecipe",
        "cocite_jobs.training.citeomatic:train_nnrank",
    ),
    "sentence": (
        "cocite.systems.sentence_encoder.encoder",
        "SentenceRecipe",
        "cocite_jobs.training.sentence:train_sentence",
    ),
    "fusion": ("cocite.pipeline.fusion_training", "FusionRecipe", "cocite_jobs.training.fusion:train_fusion"),
    "final": ("cocite.pipeline.fusion_training", "FinalRecipe", "cocite_jobs.training.fusion:train_final"),
    "hatten": ("cocite.systems.hatten.task", "HattenRecipe", "cocite_jobs.training.neural:train_neural"),
    "cross-encoder": (
        "cocite.systems.cross_encoder.task",
        "CrossEncoderRecipe",
        "cocite_jobs.training.neural:train_neural",
    ),
    "masked-lm": (
        "cocite.systems.masked_lm.task",
        "MaskedLanguageModelRecipe",
        "cocite_jobs.training.neural:train_neural",
    ),
    "mp-bert4cr-pretraining": (
        "cocite.systems.mp_bert4cr.pretraining.task",
        "HierarchicalPretrainingRecipe",
        "cocite_jobs.training.neural:train_neural",
    ),
    "mp-bert4cr": (
        "cocite.systems.mp_bert4cr.task",
        "MpBert4crRecipe",
        "cocite_jobs.training.neural:train_neural",
    ),
}
"""Kind -> (module and name of its settings, ``module:function`` that trains). Named by string: imported when used.

The module of a neural kind offers ``build(recipe, corpus, model_folder) -> Task`` besides, and its recipe has the
sections ``training`` and ``workers`` (:mod:`cocite.training.engine.settings`)."""


def is_neural(kind: str) -> bool:
    """Whether a kind is trained by the training engine, on workers of its own."""
    return KINDS[kind][2] == "cocite_jobs.training.neural:train_neural"


def silent(*_: object) -> None:
    """Tells nobody."""


@dataclass
class Report:
    """Whom a training tells of its progress.

    Attributes:
        log: metrics, and the number of the epoch (neural kinds: of the step) they are of.
        stage: what begins now, and of how many batches or steps it is (0: unknown).
        advance: batches or steps done.
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


@dataclass(frozen=True)
class Manner:
    """How and where to train.

    Attributes:
        start: what to do about an earlier training that was not finished. ``new``: neural kinds refuse to begin where
            one has checkpoints, the others go on with it; ``resume``: go on, and refuse where there is none;
            ``fresh``: throw it away.
        on: for neural kinds: Ray's workers or this process; None: this process where ``workers.count`` is 0 or
            torchrun has started it, else Ray.
        address: of a running Ray cluster; None: see :func:`cocite_jobs.cluster.session.connected`.
        wait: wait for resources that the cluster does not have yet.
        verbose: let Ray's own log through.
        source: path or URI under which workers elsewhere find the corpus; None: where it lies here.
    """

    start: Literal["new", "resume", "fresh"] = "new"
    on: Literal["ray", "process"] | None = None
    address: str | None = None
    wait: bool = False
    verbose: bool = False
    source: str | None = None


class Ready(Protocol):
    """A training that can begin: what can be refused was refused."""

    @property
    def first(self) -> bool:
        """Whether this process speaks for all that train together."""
        ...

    @property
    def mlflow(self) -> str:
        """Id of the run that keeps the metrics of the part that was done before; empty: none."""
        ...

    def note(self, mlflow: str) -> None:
        """Remember the run that keeps the metrics, so that a resumed training goes on in it."""
        ...

    def train(self, report: Report) -> Trained:
        """Train, and put the artifact into the model folder."""
        ...


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


def load_recipe(
    name: str, overrides: Sequence[str] = (), values: Mapping[str, Any] | None = None
) -> Settings:
    """A recipe by the name of a shipped one or by its path, with ``key.path=value`` overrides, and values by key."""
    path = recipe_path(name)
    data = read_yaml(path)
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ConfigError(
            f"kind: {kind!r} cannot be trained", where=str(path), hint=nearest(str(kind), KINDS)
        )
    module, settings, _ = KINDS[kind]
    cls: type[Settings] = getattr(importlib.import_module(module), settings)
    return cls.parse(data, where=path, overrides=overrides, values=values)


def train(
    recipe: Settings, corpus: Corpus, to: str | Path, report: Report | None = None, *, fresh: bool = False
) -> Trained:
    """Train what a recipe's kind says; with ``fresh``, what an unfinished training left is thrown away."""
    with ready(recipe, corpus, to, Manner(start="fresh" if fresh else "new")) as training:
        return training.train(report or Report())


@contextmanager
def ready(recipe: Settings, corpus: Corpus, to: str | Path, manner: Manner) -> Iterator[Ready]:
    """Make ready to train, and refuse what can be refused before anything is started.

    Args:
        recipe: of any kind.
        corpus: to train on.
        to: model folder, a path or a URI.
        manner: how and where.

    Raises:
        InputError: the manner does not fit the kind, or what an earlier training left is in the way.
        BusyError: another process trains this kind into this folder.
        CociteError: the folder cannot be written.
    """
    from cocite_jobs.storage.location import Place, at_hand

    kind = str(recipe.kind)  # type: ignore[attr-defined]
    place = Place.of(to)
    check_folder_destination(place.local)
    if is_neural(kind):
        from cocite_jobs.training.neural import prepared

        with prepared(recipe, corpus, to, manner) as training:
            yield training
        return
    if manner.on == "ray" or manner.address is not None:
        raise InputError(f"{kind} trains in this process", where="--on", hint="leave --on and --address out")
    from cocite_jobs.storage.location import Place, require_replaceable, training_lock

    place, folder = Place.of(to), at_hand(to)
    require_replaceable(place / kind)
    if manner.start == "resume" and not (folder / f".{kind}.checkpoint").is_dir():
        raise NotFoundError("holds no training to go on with", where=str(to), hint="leave --resume out")
    with training_lock(place, kind):
        yield _InProcess(recipe, corpus, place, folder, fresh=manner.start == "fresh")


class _InProcess:
    """A training of a kind that is none of the engine's."""

    first, mlflow = True, ""

    def __init__(self, recipe: Any, corpus: Corpus, place: Any, folder: Path, *, fresh: bool) -> None:
        self.recipe, self.corpus, self.place, self.folder, self.fresh = recipe, corpus, place, folder, fresh

    def note(self, mlflow: str) -> None:
        """Each part is a run of its own."""

    def train(self, report: Report) -> Trained:
        """See :class:`Ready`."""
        module, function = KINDS[self.recipe.kind][2].split(":")
        trainer: Trainer = getattr(importlib.import_module(module), function)
        with writing_to(self.folder):
            trained = trainer(self.recipe, self.corpus, self.folder, report, fresh=self.fresh)
        if self.place.local is None:
            (self.place / trained.folder.name).put(trained.folder)
        return trained


def fingerprint(recipe: Settings, corpus: Corpus, *more: str) -> str:
    """What a checkpoint belongs to: recipe, corpus, and whatever else the weights depend on."""
    data = json.dumps(recipe.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256("\n".join([data, corpus.version, *more]).encode()).hexdigest()[:16]
