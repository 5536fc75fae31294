"""The plan of a sweep: whatever can be refused is refused before anything starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import TypeAdapter, ValidationError

from cocite.destinations import check_folder_destination
from cocite.errors import ConfigError, nearest
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location
from cocite_tuning.studies.links import folder_below
from cocite_tuning.studies.score_study import ScoreStudy
from cocite_tuning.studies.study import Study
from cocite_tuning.studies.training import TrainingStudy
from cocite_tuning.sweep.sampler import draw_random
from cocite_tuning.sweep.spaces import Space
from cocite_tuning.sweep.study_kinds import open_study
from cocite_tuning.sweep.sweep import Sweep

CHECKED_DRAWS = 64
"""How many random draws of a space are checked before anything starts."""


@dataclass(frozen=True)
class SweepPlan:
    """A sweep that passed all checks and can start.

    Attributes:
        sweep: its settings.
        study: the study that runs its trials.
        space: the space that its parameters are drawn from.
        corpus: path or URI of the corpus store.
        to: folder of the sweep on this machine; a temporary one, whose content is uploaded, for one that is elsewhere.
        uri: of the sweep's folder, if it is elsewhere.

    Example:
        >>> from cocite_tuning.sweep.sweep import load_sweep
        >>> plan = plan_sweep(load_sweep("nnselect"), "corpus", Path("sweeps/nnselect"), here=False)
        >>> "training.optimizer.learning_rate" in plan.space.keys()
        True
    """

    sweep: Sweep
    study: Study
    space: Space
    corpus: str
    to: Path
    uri: str = ""

    @property
    def folder(self) -> Path | str:
        """The folder of the sweep as the user named it."""
        return self.uri or self.to

    @cached_property
    def place(self) -> Location:
        """The folder of the sweep."""
        return Location.of(self.folder)


@runtime_checkable
class ParameterValidator(Protocol):
    """A study that can refuse a combination of parameters each of which is valid.

    Example:
        >>> from cocite_tuning.studies.training_settings import TrainingStudySettings
        >>> study = TrainingStudy(TrainingStudySettings(recipe="nnselect"), "corpus", Path("shared"))
        >>> isinstance(study, ParameterValidator)
        True
    """

    def check_params(self, params: Mapping[str, Any]) -> None:
        """Raise a :class:`~cocite.errors.ConfigError` for parameters that exclude each other."""
        ...


@runtime_checkable
class NamesMetrics(Protocol):
    """A study that knows what its trials measure.

    Example:
        >>> from cocite_tuning.studies.training_settings import TrainingStudySettings
        >>> study = TrainingStudy(TrainingStudySettings(recipe="hatten"), "corpus", Path("shared"))
        >>> isinstance(study, NamesMetrics), study.metric_names[:2]
        (True, ('MRR', 'R@10'))
    """

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics that a trial may end with; empty: it depends."""
        ...


def plan_sweep(sweep: Sweep, corpus: str, to: Path, *, here: bool = True, uri: str = "") -> SweepPlan:
    """Check all of a sweep before anything starts.

    Args:
        sweep: from its file.
        corpus: path or URI of the corpus store.
        to: folder of the sweep; with Ray on several nodes, a folder that all of them see, unless ``uri`` is given.
        here: whether the sweep is to run on this machine; otherwise the corpus is not looked for.
        uri: where the sweep lies, if elsewhere; ``to`` is then a temporary folder for what this process makes.

    Raises:
        ConfigError: the space names a key that the study does not know, or a value that it does not accept; or its
            trials do not measure the sweep's metric.
        InputError: parts of the sweep do not fit one another.
    """
    check_folder_destination(to)
    store = fetch_local(corpus) if here else Path(corpus)
    study: Study = open_study(sweep.study, store, to / "shared")
    if isinstance(study, TrainingStudy):
        resources = sweep.resources
        # Its trials may run on other nodes, so it takes the corpus as the user named it.
        study = replace(
            study, corpus=corpus, workers=resources.workers, cpus=resources.cpus, gpus=resources.gpus
        )
        if uri:
            study = replace(study, shared=folder_below(uri, "shared"))
    elif uri and isinstance(study, ScoreStudy) and not study.in_process:
        study.elsewhere = folder_below(uri, "shared")
    if sweep.champion is not None and not isinstance(study, TrainingStudy):
        raise ConfigError("only what trains a model has a champion", where="champion", hint="leave it out")
    if study.in_process and sweep.scheduler.kind != "none":
        raise ConfigError(
            "its trials are over before one could be ended", where="scheduler.kind", hint="none"
        )
    if sweep.champion is not None:
        sweep.champion.check()
    space = check_space(sweep, study)
    _check_metric(sweep.metric.name, study)
    return SweepPlan(sweep, study, space, corpus, to, uri)


def _check_metric(name: str, study: Study) -> None:
    """Refuse a metric that no trial of the study measures: it would be missed at the end of the first one."""
    known = study.metric_names if isinstance(study, NamesMetrics) else ()
    if known and name not in known:
        raise ConfigError(
            f"the trials do not measure {name!r}, but {', '.join(known)}",
            where="metric.name",
            hint=nearest(name, known),
        )


def check_space(sweep: Sweep, study: Study) -> Space:
    """Parse the space of a sweep, and check that the study accepts its values, its start and its protocol.

    Raises:
        ConfigError: the study does not know a key, or does not accept a value.
    """
    space = Space.parse(sweep.space)
    types = study.parameter_types
    adapters: dict[str, TypeAdapter[Any]] = {}

    def check(key: str, value: Any, where: str) -> None:
        if key not in types:
            raise ConfigError(f"unknown key {key!r}", where=where, hint=nearest(key, types))
        if key not in adapters:
            adapters[key] = TypeAdapter(types[key])
        try:
            adapters[key].validate_python(value)
        except ValidationError as error:
            message = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            raise ConfigError(
                f"{value!r} is no value of it: {message[0].lower()}{message[1:]}", where=f"{where}.{key}"
            ) from error

    for term in space.all_terms():
        for value in term.extremes():
            check(term.key, value, "space")
    fixed = [(values, "start") for values in sweep.start]
    if sweep.protocol is not None:
        fixed += [(sweep.protocol.short, "protocol.short"), (sweep.protocol.full, "protocol.full")]
    for values, where in fixed:
        for key, value in values.items():
            check(key, value, where)
    # Rounding to steps and unbounded terms make values that the extremes do not show.
    drawn = draw_random(space, CHECKED_DRAWS, sweep.seed)
    for params in drawn:
        for key, value in params.items():
            check(key, value, "space")
    if isinstance(study, ParameterValidator):
        for params in (*sweep.start, *drawn):
            study.check_params(params)
    return space
