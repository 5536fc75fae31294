"""What a sweep file says of its study: one class for each kind.

The studies themselves are imported when one is opened, so that a sweep can be read and listed without torch or
LightGBM.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_validator

from cocite.bounds import Depth, FilePath, Location, Name, ProperShare, Seed, Threads
from cocite.config import Settings
from cocite.evaluation.metrics import GLOBAL, LOCAL, Metric
from cocite.retrieval.query_forms import QueryForm
from cocite_tuning.sweep.values import Values

if TYPE_CHECKING:
    from cocite_tuning.studies.blend import BlendStudy
    from cocite_tuning.studies.bm25 import Bm25Study
    from cocite_tuning.studies.depths import DepthsStudy
    from cocite_tuning.studies.neighbours import NeighboursStudy
    from cocite_tuning.studies.score_study import ScoreStudy
    from cocite_tuning.studies.training import TrainingStudy
    from cocite_tuning.studies.trees import TreesStudy

Names = Annotated[tuple[Name, ...], Field(max_length=1000)]
"""Names of members, signals, metrics or recipes."""
Pool = Annotated[int, Field(ge=10, le=10_000)]
"""Best papers that are kept of a query."""
Timed = Annotated[int, Field(ge=1, le=100_000)]
"""Queries whose time is measured."""


class TrainingStudySettings(Settings):
    """What the trials train."""

    kind: Literal["training"] = "training"
    recipe: Location
    """Name of a shipped recipe or a path."""
    set: Values = Field(default_factory=dict)
    """What every trial has set in it."""
    model: FilePath | None = None
    """A model folder whose members every trial begins with, but those that build on what is trained."""
    before: Names = ()
    """Recipes that are trained once for the sweep, in this order, into what every trial begins with."""

    def open(self, corpus: Path, shared: Path) -> TrainingStudy:
        """The study that these settings describe."""
        from cocite_tuning.studies.training import TrainingStudy

        return TrainingStudy(self, str(corpus), shared)


class ScoreSettings(Settings):
    """Which queries a study without training is measured on, and with what."""

    kind: Name
    """Which study."""
    model: FilePath | None = None
    """Model folder; without one, BM25 and the history alone."""
    index: FilePath | None = None
    """An index folder of the same corpus, whose vectors and word statistics are taken in place of making them anew."""
    without: Names = ()
    """Members of the model folder that are left out."""
    task: Literal["local", "global"] = "local"
    """Whether contexts or whole papers ask."""
    queries: int = Field(1000, ge=2, le=1_000_000_000)
    """Most dev queries, drawn with the seed."""
    held_out: ProperShare = 0.3
    """Share of the dev manuscripts that no trial sees: on them the winner is compared with the default."""
    metrics: Names = ()
    """What each trial computes; what the task's protocol reports by default."""
    seed: Seed = 0
    """Of the draws of queries and manuscripts."""

    @abstractmethod
    def open(self, corpus: Path, shared: Path) -> ScoreStudy[Any]:
        """The study that these settings describe.

        Args:
            corpus: the corpus store's folder.
            shared: a folder for what all trials share; sweeps may have it in common, for each choice of corpus, model
                and settings has a subfolder of its own.
        """

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of the metrics, in their usual spelling."""
        names = self.metrics or (LOCAL if self.task == "local" else GLOBAL)
        return tuple(str(Metric.parse(name)) for name in names)


class Bm25StudySettings(ScoreSettings):
    """BM25's parameters."""

    kind: Literal["bm25"] = "bm25"
    forms: Annotated[tuple[QueryForm, ...], Field(max_length=100)] = ()
    """Forms of the query that are compared; by default those that the kind of query has, key terms left out."""
    fields: Annotated[
        tuple[Literal["text", "title", "abstract"], ...], Field(min_length=1, max_length=100)
    ] = ("text", "title")
    """Fields of the papers that are compared."""
    pool: Pool = 200
    """Best papers that are kept of a query at each extreme of k1 and b: no metric looks deeper."""
    metrics: Names = ("MRR", "R@10", "R@20", "R@100", "MAP@10")
    """What each trial computes."""

    def open(self, corpus: Path, shared: Path) -> Bm25Study:
        """The study."""
        from cocite_tuning.studies.bm25 import Bm25Study

        return Bm25Study(self, corpus, shared)


class DepthsStudySettings(ScoreSettings):
    """How many candidates each stage gets."""

    kind: Literal["depths"] = "depths"
    depths: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1_000_000)], ...], Field(min_length=1, max_length=1000)
    ] = (10, 20, 50, 100, 200, 300, 500, 1000)
    """K of the first stage that can be chosen."""
    reranks: Annotated[
        tuple[Annotated[int, Field(ge=0, le=1_000_000)], ...], Field(min_length=1, max_length=1000)
    ] = (0, 10, 20, 50)
    """K that the cross-encoder can be given, where there is one; every pair is scored, so the greatest one costs."""
    timed: Timed = 20
    """Queries whose time is measured."""
    metrics: Names = ("MRR", "R@10", "R@20", "MAP@10")
    """What each trial computes; beyond K nothing is found."""

    @field_validator("depths", "reranks")
    @classmethod
    def _ascending(cls, values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(values)))

    def open(self, corpus: Path, shared: Path) -> DepthsStudy:
        """The study."""
        from cocite_tuning.studies.depths import DepthsStudy

        return DepthsStudy(self, corpus, shared)


class FusionStudySettings(ScoreSettings):
    """The weights of the first stage's blend."""

    kind: Literal["fusion"] = "fusion"
    signals: Names = ()
    """Signals whose weights can be tuned; by default all that a shipped blend weighs and the model folder offers."""
    pool: Pool = 100
    """Best papers of each signal that are kept of a query: no metric looks deeper."""
    metrics: Names = ("MRR", "R@10", "R@20", "R@100", "MAP@10")
    """What each trial computes."""

    def open(self, corpus: Path, shared: Path) -> BlendStudy:
        """The study."""
        from cocite_tuning.studies.blend import BlendStudy

        return BlendStudy(self, corpus, shared)


class NeighboursStudySettings(ScoreSettings):
    """K of Citeomatic's selection."""

    kind: Literal["neighbours"] = "neighbours"
    model: FilePath | None = Path("model")
    """Model folder with NNSelect, and NNRank if its order is wanted."""
    task: Literal["local", "global"] = "global"
    """Whether contexts or whole papers ask; Citeomatic is made for whole papers."""
    neighbours: Annotated[
        tuple[Annotated[int, Field(ge=1, le=10_000)], ...], Field(min_length=1, max_length=1000)
    ] = (1, 2, 5, 10, 20, 50, 100, 200)
    """K that can be chosen."""
    timed: Timed = 20
    """Queries whose time is measured."""
    metrics: Names = ("F1@20", "MRR", "P@10", "R@20", "R@100")
    """What each trial computes."""

    @field_validator("neighbours")
    @classmethod
    def _ascending(cls, values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(values)))

    def open(self, corpus: Path, shared: Path) -> NeighboursStudy:
        """The study."""
        from cocite_tuning.studies.neighbours import NeighboursStudy

        return NeighboursStudy(self, corpus, shared)


class TreesStudySettings(ScoreSettings):
    """The learned fusion's own parameters."""

    kind: Literal["trees"] = "trees"
    depth: Depth = 300
    """Candidates of a query."""
    fit: float = Field(0.7, gt=0, lt=1)
    """Share of the trials' manuscripts that a trial's trees are grown on; it is measured on the others."""
    threads: Threads = 1
    """CPU threads of a trial."""
    metrics: Names = ("MRR", "R@10", "R@20", "MAP@10")
    """What each trial computes; beyond ``depth`` nothing is found."""

    def open(self, corpus: Path, shared: Path) -> TreesStudy:
        """The study."""
        from cocite_tuning.studies.trees import TreesStudy

        return TreesStudy(self, corpus, shared)


STUDIES: dict[str, type[Settings]] = {
    "training": TrainingStudySettings,
    "depths": DepthsStudySettings,
    "neighbours": NeighboursStudySettings,
    "fusion": FusionStudySettings,
    "bm25": Bm25StudySettings,
    "trees": TreesStudySettings,
}
"""Kind of a study -> its settings.

They have a field ``kind``, and a method ``open(corpus, shared) -> Study``: corpus is the store's folder, and ``shared``
a folder for what all trials share."""
