"""A sweep file: what is tuned, over which space, by whom, how long, and what becomes of the winner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import (
    BeforeValidator,
    Field,
    SerializeAsAny,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from cocite.bounds import Cores, Minutes, Name, PositiveCores, PositiveSmallCount, Seed, SmallCount, Total
from cocite.config import Settings, Source
from cocite.errors import ConfigError, nearest
from cocite.shipped_files import shipped_file, shipped_names
from cocite_tuning.run.result import LEVEL
from cocite_tuning.studies.settings import STUDIES
from cocite_tuning.studies.study import Study
from cocite_tuning.sweep.sampler import Search, draws
from cocite_tuning.sweep.spaces import Space
from cocite_tuning.sweep.values import Values

SWEEPS = Path(__file__).parents[1] / "sweeps"

CHECKED = 64
"""Draws of a space that are looked at before anything starts."""


@runtime_checkable
class Choosy(Protocol):
    """A study that may refuse parameters each of which it takes."""

    def check(self, params: Mapping[str, Any]) -> None:
        """Raise a :class:`~cocite.errors.ConfigError` for parameters that do not go together."""
        ...


def _study(data: Any, info: ValidationInfo) -> Any:
    """The settings of a study by its kind."""
    if isinstance(data, Settings):
        return data
    source = (info.context or Source()).at("study")
    kind = data.get("kind") if isinstance(data, Mapping) else data
    if kind not in STUDIES:
        raise ConfigError(
            f"study.kind: no study is of the kind {kind!r}",
            where=source.of("kind"),
            hint=nearest(str(kind), STUDIES),
        )
    return STUDIES[kind].parse(data, where=source)


class MetricSettings(Settings):
    """What is optimised."""

    name: Name
    """One of the metrics that a trial ends with, such as ``R@20``."""
    mode: Literal["max", "min"] = "max"


class SchedulerSettings(Settings):
    """Who ends a trial early."""

    kind: Literal["asha", "none"] = "none"
    """``asha``: a trial that is not among the best ``1 / reduction`` of those that came to a rung ends there
    (Li et al. 2020)."""
    grace: Total = 1
    """Step of the first rung: epochs of kinds that count epochs, optimizer steps of neural kinds."""
    reduction: float = Field(3.0, gt=1, le=1000)
    """Rungs lie at ``grace * reduction ** i``."""
    longest: Total = 100
    """No rung lies beyond this step."""

    @model_validator(mode="after")
    def _ordered(self) -> SchedulerSettings:
        if self.longest < self.grace:
            raise ValueError(f"longest is {self.longest}, below grace, {self.grace}")
        return self


class BudgetSettings(Settings):
    """How much is tried."""

    trials: int = Field(50, ge=1, le=1_000_000)
    """Trials, failed ones included; of a protocol in two phases the short ones."""
    minutes: Minutes | None = None
    """No further trial begins after so many minutes of one call."""
    concurrency: PositiveSmallCount | None = None
    """Trials at a time; unset: as many as the cluster has room for."""


class ProtocolSettings(Settings):
    """Two phases: many short trials, then the best of them trained in full (Citeomatic, Appendix A)."""

    short: Values = Field(default_factory=dict)
    """What short trials are run with besides their parameters: dotted names."""
    full: Values = Field(default_factory=dict)
    """The same of full ones."""
    best: PositiveSmallCount = 10
    """Short trials that are run again in full."""


class ResourceSettings(Settings):
    """What each trial gets."""

    cpus: PositiveCores = 1
    """Logical CPUs of each worker; also its torch threads where it has no GPU."""
    gpus: Cores = 0
    """GPUs of each worker."""
    workers: PositiveSmallCount = 1
    """Above 1, a trial is a Ray Train run of so many workers; neural kinds only."""


class ChampionSettings(Settings):
    """What becomes of the best trial's model: registered if it beats the present one on dev."""

    register_as: Name = Field(alias="register")
    """Name of the registered model."""
    alias: Name = "champion"
    task: Literal["local", "global"]
    """The dev queries both are compared on."""
    system: Name
    """How they rank: one of ``cocite evaluate pipeline --stages``."""
    metric: Name
    """Of each query; the test is paired."""
    sample: int | None = Field(2000, ge=2, le=1_000_000_000)
    """So many of the dev queries; null: all."""
    level: float = Field(LEVEL, gt=0, lt=1)
    """Greatest p of the two-sided paired t-test."""

    def check(self) -> None:
        """Refuse a system or a metric that there is none of."""
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
    """All of a sweep."""

    name: str = Field(pattern=r"^\w[\w .-]*$", max_length=200)
    """Of its folder too."""
    study: Annotated[SerializeAsAny[Settings], BeforeValidator(_study)]
    space: Annotated[dict[Name, Any], Field(max_length=1000)]
    """See :mod:`cocite_tuning.sweep.spaces`."""
    start: Annotated[tuple[Values, ...], Field(max_length=10_000)] = ({},)
    """Parameters that are tried before any is drawn; ``{}`` is the thing as it is, which the others are to beat."""
    metric: MetricSettings
    search: Search = "tpe"
    scheduler: SchedulerSettings = SchedulerSettings()
    budget: BudgetSettings = BudgetSettings()
    protocol: ProtocolSettings | None = None
    resources: ResourceSettings = ResourceSettings()
    retries: SmallCount = 2
    """How often a trial is taken up again after its process died."""
    keep: PositiveSmallCount = 1
    """Trials whose files stay on disk, the best ones; others' are removed as they end."""
    seed: Seed = 0
    champion: ChampionSettings | None = None

    @property
    def kind(self) -> str:
        """The study's."""
        return str(self.study.kind)  # type: ignore[attr-defined]

    def identity(self) -> dict[str, Any]:
        """What makes it this sweep and no other: all but how much is tried, by whom, and what becomes of it."""
        free = {"budget", "resources", "retries", "keep", "champion"}
        return self.model_dump(mode="json", by_alias=True, exclude=free)


def shipped_sweeps() -> list[str]:
    """Names of the sweeps that come with cocite."""
    return shipped_names(SWEEPS)


def sweep_path(name: str) -> Path:
    """The file of a sweep, given the name of a shipped one or a path."""
    return shipped_file(name, SWEEPS, what="sweep")


def load_sweep(name: str, overrides: Sequence[str] = ()) -> Sweep:
    """A sweep by the name of a shipped one or by its path, with ``key.path=value`` overrides."""
    path = sweep_path(name)
    return Sweep.load(path, overrides)


def checked_space(sweep: Sweep, study: Study) -> Space:
    """The space of a sweep, once a study has been found to take all that may be drawn from it, and ``start``.

    Raises:
        ConfigError: a key is unknown, or a value is none that the study takes.
    """
    space = Space.parse(sweep.space)
    keys = study.keys
    adapters: dict[str, TypeAdapter[Any]] = {}

    def check(key: str, value: Any, where: str) -> None:
        if key not in keys:
            raise ConfigError(f"unknown key {key!r}", where=where, hint=nearest(key, keys))
        if key not in adapters:
            adapters[key] = TypeAdapter(keys[key])
        try:
            adapters[key].validate_python(value)
        except ValidationError as error:
            message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            raise ConfigError(
                f"{value!r} is no value of it: {message[0].lower()}{message[1:]}", where=f"{where}.{key}"
            ) from error

    for term in space.all_terms():
        for value in term.ends():
            check(term.key, value, "space")
    fixed = [(values, "start") for values in sweep.start]
    if sweep.protocol is not None:
        fixed += [(sweep.protocol.short, "protocol.short"), (sweep.protocol.full, "protocol.full")]
    for values, where in fixed:
        for key, value in values.items():
            check(key, value, where)
    drawn = draws(space, CHECKED, sweep.seed)
    for params in drawn:
        for key, value in params.items():
            check(key, value, "space")
    if isinstance(study, Choosy):
        for params in (*sweep.start, *drawn):
            study.check(params)
    return space
