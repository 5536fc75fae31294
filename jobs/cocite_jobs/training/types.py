"""The values that trainings take and return, and the protocols of what trains."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.registry import load_object

Start = Literal["new", "resume", "fresh"]
"""How to begin where an earlier training was not finished. ``new``: refuse to begin beside its checkpoints;
``resume``: continue it, and refuse where there is none; ``fresh``: discard it. Only kinds that the training engine
trains leave checkpoints."""


@dataclass(frozen=True)
class LaunchOptions:
    """How and where to train.

    Attributes:
        start: what to do about an earlier training that was not finished: see :data:`Start`.
        on: for kinds that the training engine trains: Ray's workers or this process; None: this process where
            ``workers.count`` is 0 or torchrun has started it, else Ray.
        address: of a running Ray cluster; None: see :func:`cocite_jobs.cluster.connection.ray_connection`.
        wait: wait for resources that the cluster does not have yet.
        verbose: show Ray's own log.
        source: path or URI under which workers elsewhere find the corpus; None: its path on this machine.

    Example:
        >>> options = LaunchOptions(start="resume", on="process")
        >>> options.start, options.address
        ('resume', None)
    """

    start: Start = "new"
    on: Literal["ray", "process"] | None = None
    address: str | None = None
    wait: bool = False
    verbose: bool = False
    source: str | None = None


@dataclass(frozen=True)
class TrainedArtifact:
    """The result of a training.

    Attributes:
        folder: of the artifact that it wrote.
        metrics: dev metrics of the epoch or step whose weights were kept.
        details: anything else worth reporting (epochs, seconds, sizes).
        uri: where it was published, if that is not on this machine: ``folder`` is a copy then.

    Example:
        >>> trained = TrainedArtifact(Path("model/nnselect"), {"MRR": 0.25}, {"epochs": 3})
        >>> trained.folder.name, trained.metrics["MRR"]
        ('nnselect', 0.25)
    """

    folder: Path
    metrics: dict[str, float]
    details: dict[str, Any] = field(default_factory=dict)
    uri: str | None = None

    @property
    def place(self) -> str:
        """Where the user finds it: its URI, or its folder."""
        return self.uri or str(self.folder)


@dataclass(frozen=True)
class TrainingJob:
    """A training of the engine in plain values, which the driver sends to the workers.

    Attributes:
        recipe_class: ``module:Class`` of the recipe.
        task: ``module:function`` that builds the task.
        recipe: the recipe's values, as JSON has them.
        corpus: path or URI of the corpus store.
        to: path or URI of the model folder.
        fingerprint: of the training that the checkpoints must belong to.

    Example:
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> recipe = load_recipe("hatten")
        >>> job = TrainingJob(
        ...     "cocite.systems.hatten.task:HattenRecipe", "cocite.systems.hatten.task:build",
        ...     recipe.model_dump(mode="json"), "corpus", "model", "0123",
        ... )
        >>> job.parse_recipe() == recipe
        True
    """

    recipe_class: str
    task: str
    recipe: dict[str, Any]
    corpus: str
    to: str
    fingerprint: str

    def parse_recipe(self) -> Any:
        """The recipe, as its class."""
        cls: type[Settings] = load_object(self.recipe_class)
        return cls.parse(self.recipe)

    def build_task(self, recipe: Any, corpus: Corpus, model_folder: Path) -> Any:
        """The task that the engine trains."""
        return load_object(self.task)(recipe, corpus, model_folder)


class TrainingSession(Protocol):
    """A training that can begin: whatever could be refused beforehand has been refused.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> from cocite_jobs.training.train import open_session
        >>> recipe, corpus = load_recipe("nnselect"), starter_corpus()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open_session(recipe, corpus, folder, LaunchOptions()) as session:
        ...         session.is_first, session.mlflow_run  # session.train(progress) would train
        (True, '')
    """

    @property
    def recipe(self) -> Any:
        """The recipe that is trained, with the backend that the number of workers asks for."""
        ...

    @property
    def is_first(self) -> bool:
        """Whether this process reports for all that train together."""
        ...

    @property
    def mlflow_run(self) -> str:
        """Id of the MLflow run that has the metrics of the part that was trained before; empty: none."""
        ...

    def set_mlflow_run(self, id_: str) -> None:
        """Record the MLflow run that gets the metrics, so that a resumed training continues it."""
        ...

    def train(self, progress: ProgressCallback) -> TrainedArtifact:
        """Train, and write the artifact into the model folder."""
        ...


class InProcessTrainer(Protocol):
    """Trains one kind of recipe in this process and writes ``to/<kind>``.

    Example:
        >>> from cocite_jobs.training.progress import ProgressFunctions
        >>> def train_popularity(recipe, corpus, to, progress):
        ...     progress.stage("counting citations", 0)
        ...     return TrainedArtifact(to / "popularity", metrics={"MRR": 0.1})
        >>> trainer: InProcessTrainer = train_popularity
        >>> trainer(None, None, Path("model"), ProgressFunctions(stage=print)).folder.name
        counting citations 0
        'popularity'
    """

    def __call__(self, recipe: Any, corpus: Corpus, to: Path, progress: ProgressCallback) -> TrainedArtifact:
        """Train from the beginning, and write nothing but the artifact."""
        ...
