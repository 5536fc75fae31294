"""A sweep file: what is tuned, over which space, by which search, for how long, and where the best model goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationInfo, model_validator

from cocite.bounds import (
    Cores,
    FilePath,
    Minutes,
    Name,
    PositiveCores,
    PositiveSmallCount,
    Seed,
    SmallCount,
    Total,
)
from cocite.config import Settings, Source
from cocite.errors import ConfigError, nearest
from cocite.shipped_files import shipped_file, shipped_names
from cocite_tuning.sweep.result import LEVEL
from cocite_tuning.sweep.sampler import Search
from cocite_tuning.sweep.study_kinds import STUDY_KINDS
from cocite_tuning.sweep.values import Values

SWEEPS = Path(__file__).parents[1] / "sweeps"
"""Folder of the sweeps that ship with cocite."""


def _study(data: Any, info: ValidationInfo) -> Any:
    """Parse the settings of a study by the class of its kind."""
    if isinstance(data, Settings):
        return data
    source = (info.context or Source()).section("study")
    kind = data.get("kind") if isinstance(data, Mapping) else data
    if kind not in STUDY_KINDS:
        raise ConfigError(
            f"study.kind: no study is of the kind {kind!r}",
            where=source.origin("kind"),
            hint=nearest(str(kind), STUDY_KINDS),
        )
    return STUDY_KINDS[kind].settings_class().parse(data, where=source)


class MetricSettings(Settings):
    """The metric that a sweep optimises.

    Example:
        >>> MetricSettings(name="R@20").mode
        'max'
    """

    name: Name
    """One of the final metrics of a trial, such as ``R@20``."""
    mode: Literal["max", "min"] = "max"


class SchedulerSettings(Settings):
    """Whether and when trials that lag behind are ended early.

    Example:
        Rungs at steps 2, 6 and 18; at each rung the better third of the trials continues.

        >>> asha = SchedulerSettings(kind="asha", grace=2, reduction=3, longest=20)
        >>> [asha.grace * asha.reduction**i for i in range(3)]
        [2.0, 6.0, 18.0]
    """

    kind: Literal["asha", "none"] = "none"
    """``asha``: a trial ends at a rung unless it is among the best ``1 / reduction`` of those that reached it
    (Li et al. 2020)."""
    grace: Total = 1
    """Step of the first rung: epochs where a kind counts epochs, optimizer steps for neural kinds."""
    reduction: float = Field(3.0, gt=1, le=1000)
    """Rung i lies at step ``grace * reduction ** i``."""
    longest: Total = 100
    """The greatest step at which there may be a rung."""

    @model_validator(mode="after")
    def _ordered(self) -> SchedulerSettings:
        if self.longest < self.grace:
            raise ValueError(f"longest is {self.longest}, below grace, {self.grace}")
        return self


class BudgetSettings(Settings):
    """How many trials there are, for how long, and how many at a time.

    Example:
        >>> BudgetSettings(trials=300, minutes=120).concurrency is None  # as many at a time as the cluster has room for
        True
    """

    trials: int = Field(50, ge=1, le=1_000_000)
    """Trials, failed ones included; in a protocol of two phases, the short ones."""
    minutes: Minutes | None = None
    """After this many minutes of one call no further trial starts."""
    concurrency: PositiveSmallCount | None = None
    """Trials at a time; None: as many as the cluster has room for."""


class ProtocolSettings(Settings):
    """Two phases: many short trials, then the best of them trained in full (Citeomatic, Appendix A).

    Example:
        >>> protocol = ProtocolSettings(short={"training.epochs": 1}, full={"training": {"epochs": 20}}, best=10)
        >>> protocol.full
        {'training.epochs': 20}
    """

    short: Values = Field(default_factory=dict)
    """Settings of the short trials besides their parameters, by dotted name."""
    full: Values = Field(default_factory=dict)
    """Settings of the full trials besides their parameters."""
    best: PositiveSmallCount = 10
    """How many of the short trials are run again in full."""


class ResourceSettings(Settings):
    """The resources of each trial.

    Example:
        >>> ResourceSettings(workers=2, cpus=4, gpus=1).workers  # a Ray Train run of two workers with a GPU each
        2
    """

    cpus: PositiveCores = 1
    """Logical CPUs of each worker; also its torch threads where it has no GPU."""
    gpus: Cores | None = None
    """GPUs of each worker. 0: it trains on CPUs, also where there are GPUs. None: 1 for a neural kind where the cluster
    has GPUs or ``workers.accelerator`` is set, else 0."""
    workers: PositiveSmallCount = 1
    """Above 1, a trial is a Ray Train run of this many workers, which only neural kinds support."""


class ChampionSettings(Settings):
    """How the best trial's model is compared with a registered one on dev; the better one holds the alias.

    Example:
        >>> champion = ChampionSettings.parse(
        ...     {"register": "nnselect", "task": "global", "system": "nnselect", "metric": "R@20"}
        ... )
        >>> champion.check()
        >>> f"{champion.register_as}@{champion.alias}", champion.level
        ('nnselect@champion', 0.05)
    """

    register_as: Name = Field(alias="register")
    """Name of the registered model."""
    alias: Name = "champion"
    task: Literal["local", "global"]
    """The kind of dev queries that both models are compared on."""
    system: Name
    """How the models rank: one of ``cocite evaluate pipeline --stages``."""
    metric: Name
    """Compared on the same queries, in a paired test over their citing papers."""
    sample: int | None = Field(2000, ge=2, le=1_000_000_000)
    """How many of the dev queries; null: all."""
    level: float = Field(LEVEL, gt=0, lt=1)
    """Greatest p of the two-sided paired t-test."""
    index: FilePath | None = None
    """Index whose papers ask the golden queries that are kept with a model that takes the alias; without one, the
    model keeps none, and an endpoint says so."""

    def check(self) -> None:
        """Refuse a system or a metric that does not exist.

        Raises:
            InputError: there is no such system or metric.
        """
        from cocite.evaluation.metrics import Metric
        from cocite.evaluation.systems import SYSTEMS

        Metric.parse(self.metric)
        if self.system not in SYSTEMS:
            raise ConfigError(
                f"no system is called {self.system!r}",
                where="champion.system",
                hint=nearest(self.system, SYSTEMS),
            )


class Sweep(Settings):
    """All settings of a sweep, as its file holds them.

    Example:
        >>> sweep = Sweep.parse({
        ...     "name": "words",
        ...     "study": {"kind": "bm25", "queries": 200},
        ...     "space": {"k1": {"uniform": [0.5, 3]}, "b": {"uniform": [0, 1]}},
        ...     "metric": {"name": "MRR"},
        ... })
        >>> sweep.kind, sweep.search, sweep.budget.trials
        ('bm25', 'tpe', 50)
        >>> load_sweep("bm25", ["budget.trials=3"]).budget.trials
        3
    """

    name: str = Field(pattern=r"^\w[\w .-]*$", max_length=200)
    """Also the name of its folder."""
    study: Annotated[SerializeAsAny[Settings], BeforeValidator(_study)]
    space: Annotated[dict[Name, Any], Field(max_length=1000)]
    """See :mod:`cocite_tuning.sweep.spaces`."""
    start: Annotated[tuple[Values, ...], Field(max_length=10_000)] = ({},)
    """Parameters that are tried before any are drawn; ``{}`` is the default, which the others are to beat."""
    metric: MetricSettings
    search: Search = "tpe"
    scheduler: SchedulerSettings = SchedulerSettings()
    budget: BudgetSettings = BudgetSettings()
    protocol: ProtocolSettings | None = None
    resources: ResourceSettings = ResourceSettings()
    retries: SmallCount = 2
    """How often a trial is restarted after its process died."""
    keep: PositiveSmallCount = 1
    """How many trials' files stay on disk, those of the best; the files of the others are removed as they end."""
    seed: Seed = 0
    champion: ChampionSettings | None = None

    @property
    def kind(self) -> str:
        """The kind of the study."""
        return str(self.study.kind)  # type: ignore[attr-defined]

    def identity(self) -> dict[str, Any]:
        """The settings that may not change when a sweep is resumed."""
        free = {"budget", "resources", "retries", "keep", "champion"}
        return self.model_dump(mode="json", by_alias=True, exclude=free)


def shipped_sweeps() -> list[str]:
    """The names of the sweeps that ship with cocite.

    Example:
        >>> "nnselect" in shipped_sweeps()
        True
    """
    return shipped_names(SWEEPS)


def sweep_path(name: str) -> Path:
    """The file of a sweep, given the name of a shipped one or a path."""
    return shipped_file(name, SWEEPS, what="sweep")


def load_sweep(name: str, overrides: Sequence[str] = ()) -> Sweep:
    """A sweep by the name of a shipped one or by its path, with ``key.path=value`` overrides."""
    path = sweep_path(name)
    return Sweep.load(path, overrides)
