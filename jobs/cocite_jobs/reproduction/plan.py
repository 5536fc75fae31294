"""What the reproduction of a paper is made of: trainings, and the tables and figures that need them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from cocite.corpus.store import Corpus
from cocite.evaluation.report import Table
from cocite.progress_bars import ProgressBars, no_bars
from cocite_jobs.cluster.connection import joins_cluster
from cocite_jobs.training.types import LaunchOptions

Size = Literal["toy", "small", "paper"]
"""``toy``: a few steps, to see that all runs; ``small``: recipes for two CPU cores; ``paper``: those of the paper."""
SIZES: tuple[Size, ...] = ("toy", "small", "paper")


@dataclass(frozen=True)
class Setup:
    """What a reproduction is made with.

    Attributes:
        corpus: papers, links and contexts.
        folder: where all of it is kept.
        size: of models and samples.
        seed: of the trainings.
        encoder: name or folder of the pretrained encoder that rerankers start from; None: the size's own.
        more_encoders: further ones; a paper that compares encoders trains a reranker, or a baseline, from each.
        sample: number of queries; None: the size's own.
        address: of a running Ray cluster, which trains; None: that of ``RAY_ADDRESS``, else this process trains.
        bars: of each step.
        sample_seed: of the query samples; None: that of the trainings.
        settings: what is changed in the recipes, see :mod:`~cocite_jobs.reproduction.recipe_settings`.
        trials: the seeds of all trials, whose folders lie beside this one; empty: it is no trial.
        min_citations: Citeomatic's queries cite at least so many papers of the corpus; None: one.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> setup = Setup(starter_corpus(), Path("citeomatic-toy"), "toy")
        >>> setup.model, setup.launch.on
        (PosixPath('citeomatic-toy/model'), 'process')
    """

    corpus: Corpus
    folder: Path
    size: Size
    seed: int = 0
    encoder: str | None = None
    sample: int | None = None
    address: str | None = None
    bars: ProgressBars = no_bars
    more_encoders: tuple[str, ...] = ()
    sample_seed: int | None = None
    settings: tuple[str, ...] = ()
    trials: tuple[int, ...] = ()
    min_citations: int | None = None

    @property
    def encoders(self) -> tuple[str, ...]:
        """All encoders that are named."""
        return (*([self.encoder] if self.encoder is not None else []), *self.more_encoders)

    @property
    def query_seed(self) -> int:
        """Seed of the query samples."""
        return self.seed if self.sample_seed is None else self.sample_seed

    @property
    def model(self) -> Path:
        """The model folder of most trainings."""
        return self.folder / "model"

    @property
    def launch(self) -> LaunchOptions:
        """Where recipes with workers are trained."""
        on_ray = self.address is not None or joins_cluster()
        return LaunchOptions(on="ray" if on_ray else "process", address=self.address)

    def sample_of(self, sizes: Mapping[Size, int | None]) -> int | None:
        """Number of queries of a table; None: all.

        Args:
            sizes: size -> the number that it has of its own.
        """
        return sizes[self.size] if self.sample is None else self.sample

    def command(self, *arguments: object) -> str:
        """A command line of cocite on this corpus, as one would type it."""
        return shlex.join(map(str, ["cocite", *arguments, "--corpus", self.corpus.path]))


@dataclass(frozen=True)
class Training:
    """One or two artifacts that tables need.

    Attributes:
        name: unique in its plan.
        artifacts: their folders below the setup's; the training is done when all are there.
        train: trains them, or resumes; takes the most minutes (None: no limit but the recipe's).
        weight: its part of a budget.
        kind: of its recipe.
        load: the recipe with what the setup changes in it; None: it is made of another one that was trained before.
        is_beside: whether it is for what the paper does not have; such trainings are a plan's last, and a budget gives
            them what the others leave.

    Example:
        >>> Training("nnselect", ("model/nnselect",), lambda setup, minutes: None, weight=2).is_done(Path("none"))
        False
    """

    name: str
    artifacts: tuple[str, ...]
    train: Callable[[Setup, float | None], object]
    weight: float = 1.0
    kind: str = ""
    load: Callable[[Setup], object] | None = None
    is_beside: bool = False

    def is_done(self, folder: Path) -> bool:
        """Whether all its artifacts are in a reproduction's folder: each is published whole, or not at all."""
        return all((folder / artifact / "manifest.json").is_file() for artifact in self.artifacts)


@dataclass(frozen=True)
class Plot:
    """How a table is drawn.

    Attributes:
        kind: ``rows``: a line a row, over columns whose names end with a number; ``columns``: a line a column, over the
            numbers in the first column; ``bars``: a group of bars a row, a bar a column.
        columns: the columns that are drawn.
        x, y: labels of the axes.
        dataset: of the paper, whose numbers are drawn dashed; empty: none.

    Example:
        >>> Plot("columns", ("R@20, NNSelect",), "neighbours", "R@20").dataset
        ''
    """

    kind: Literal["rows", "columns", "bars"]
    columns: tuple[str, ...]
    x: str
    y: str
    dataset: str = ""


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure of a paper that cocite can make.

    Attributes:
        id: ``table4``, ``figure1``, ``section5``.
        title: as ``Table 4: recall by the number of neighbours``.
        make: measures it.
        command: prints the same by itself.
        needs: names of trainings.
        names: our name of a row or column -> the paper's, where they differ.
        plot: how it is drawn; None: not at all.
        why_not: why this corpus has nothing to measure; empty: it has.
        measured_with: id of an earlier exhibit, of whose measurement this one is another view; empty: of none.
        determined_by: what determines its numbers, besides the models and the reproduction; empty: the command.

    Example:
        >>> made = Exhibit("table1", "Table 1: the corpus", lambda setup: Table("", ["what", "value"], []), "cocite …")
        >>> made.label
        'Table 1'
    """

    id: str
    title: str
    make: Callable[[Setup], Table]
    command: str
    needs: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    plot: Plot | None = None
    why_not: str = ""
    measured_with: str = ""
    determined_by: str = ""

    @property
    def label(self) -> str:
        """Its number in the paper."""
        return self.title.partition(":")[0]


@dataclass(frozen=True)
class Plan:
    """A paper's trainings, in the order in which they are made, and its tables and figures.

    Attributes:
        paper: its name here.
        citation: authors, title, year.
        trainings: a later one may read the artifacts of an earlier one.
        exhibits: in the paper's order.
        impossible: label of a table or figure that cocite cannot make on any corpus -> why, in one sentence.
        baselines: the settings of the baselines that its tables train; None: they train none.

    Example:
        >>> Plan("citeomatic", "Bhagavatula et al., 2018", (), (), {"Table 5": "It compares baselines."}).needed(())
        []
    """

    paper: str
    citation: str
    trainings: tuple[Training, ...]
    exhibits: tuple[Exhibit, ...]
    impossible: Mapping[str, str]
    baselines: Callable[[Setup], object] | None = None

    def command_of(self, id_: str) -> str:
        """What prints the exhibit of an id by itself."""
        return next(exhibit.command for exhibit in self.exhibits if exhibit.id == id_)

    def needed(self, exhibits: tuple[Exhibit, ...]) -> list[Training]:
        """The trainings that some exhibits need, in order."""
        names = {name for exhibit in exhibits for name in exhibit.needs}
        return [training for training in self.trainings if training.name in names]
