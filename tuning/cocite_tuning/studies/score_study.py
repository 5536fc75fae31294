"""What the studies without training share: dev queries, a cache on disk, trials on some of them, a check on others."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from cocite.artifacts import load_array, publish
from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, InputError, NotFoundError, nearest
from cocite.evaluation import tasks
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import Metric, means
from cocite.evaluation.significance import Comparison, compare
from cocite.evaluation.tasks import EvalTask
from cocite.manifests import holds, read_manifest
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.protocols import Encoder
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.snapshot import IndexSnapshot, current_meta
from cocite.systems.learned_fusion.examples import reserved_queries
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite.verification import open_verified_once
from cocite_tuning.studies.settings import ScoreSettings
from cocite_tuning.studies.study import Report
from cocite_tuning.studies.usage import INDEX, Locations, Usage

FORMAT = 1
"""Part of every cache's name: raised when what is kept changes its form."""
SPLIT = "dev"


class DevQueries:
    """The queries of a study, those of the trials first, over an index that ends before them.

    Args:
        settings: which.
        corpus: the corpus store's folder.
        unseen: leave out the manuscripts that the model folder's learned fusion was trained on.

    Attributes:
        task: Q queries with what they cite.
        tuning: T, how many of them the trials see.
        encoders: whose vectors the index holds.
    """

    def __init__(self, settings: ScoreSettings, corpus: Path, *, unseen: bool = False) -> None:
        self.settings = settings
        self.corpus = Corpus.open(corpus)
        self.model = settings.model
        task = tasks.build(self.corpus, settings.task, SPLIT)
        papers = np.array([query.paper for query in task.queries], np.int32)
        allowed = np.flatnonzero(_unseen(settings.model, papers) if unseen else np.ones(len(papers), bool))
        chosen = tasks.draw_sample(allowed, settings.queries, settings.seed)
        held = reserved_queries(papers[chosen], settings.held_out, settings.seed + 1)
        self.task: EvalTask = task.take(np.concatenate([chosen[~held], chosen[held]]))
        self.tuning = int((~held).sum())
        if not self.tuning:
            raise InputError(
                "no query is left for the trials", hint="give more queries or a smaller held_out"
            )

    @cached_property
    def encoders(self) -> list[Encoder]:
        """The encoders of the model folder, but those left out."""
        names = [name for name in components.ENCODERS if name not in self.settings.without]
        return components.load_encoders(self.model, among=names)

    @cached_property
    def index(self) -> Index:
        """The corpus with the history before dev."""
        saved = IndexSnapshot.open(self.settings.index) if self.settings.index is not None else None
        return index_of(self.corpus, tasks.history_before(self.corpus, SPLIT), self.encoders, saved=saved)

    @property
    def first(self) -> FirstStage:
        """The first stage with the encoders, and the blend of the model folder unless that is left out."""
        blended = None if "blend" in self.settings.without else self.model
        return FirstStage.over(blended, self.index, self.encoders)


def _unseen(model: Path | None, papers: NDArray[np.int32]) -> NDArray[np.bool_]:
    """(Q,) whether the learned fusion of a model folder did not see a query's manuscript."""
    if model is None or "fusion" not in components.active_components(model):
        return np.ones(len(papers), bool)
    recipe = FusionRecipe.parse(
        read_manifest(model / "fusion").meta.get("recipe", {}), where=str(model / "fusion")
    )
    if not recipe.reserve:
        raise InputError(
            "the fusion was trained on all dev queries, so its scores there promise too much",
            where=str(model / "fusion"),
            hint="train it again with reserve=0.3",
        )
    return reserved_queries(papers, recipe.reserve, recipe.seed)


S = TypeVar("S", bound=ScoreSettings)


class ScoreStudy(ABC, Generic[S]):
    """A study over cached scores; a :class:`~cocite_tuning.studies.study.Study`.

    A subclass says how the cache is made (:meth:`_make`) and how a choice of parameters ranks the queries
    (:meth:`_hits`). It holds nothing but its settings until a trial opens the cache, so it travels between processes.
    """

    light: ClassVar[bool] = True

    def __init__(self, settings: S, corpus: Path, shared: Path) -> None:
        self.settings, self.corpus, self.shared = settings, corpus, shared
        self.metrics = settings.measured
        for name in self.metrics:
            depth = Metric.parse(name).k
            if depth is not None and self._limit is not None and depth > self._limit:
                raise ConfigError(
                    f"{name} looks deeper than the {self._limit} papers that are kept of each query",
                    where="metrics",
                    hint=f"name metrics that look no deeper than {self._limit}",
                )

    # -- what a subclass says --------------------------------------------------------------------------------

    @property
    @abstractmethod
    def keys(self) -> Mapping[str, Any]:
        """Dotted name -> annotation of each parameter."""

    @property
    def _limit(self) -> int | None:
        """Deepest cut of a metric that the cache can tell; None: any."""
        return None

    @property
    @abstractmethod
    def _identity(self) -> dict[str, Any]:
        """The settings of its own that the cache depends on."""

    @abstractmethod
    def _make(self, folder: Path) -> DevQueries:
        """Fill a folder with the scores, and say for which queries."""

    @abstractmethod
    def _hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        """Where the cited papers of some queries stand."""

    @abstractmethod
    def usage(self, params: Mapping[str, Any], place: Locations) -> Usage:
        """The commands that use a choice of parameters."""

    def leave(self, params: Mapping[str, Any], best: Path) -> None:
        """Write what can be used as it is into a folder; nothing, where commands say it all."""

    def _more(self, params: Mapping[str, Any]) -> dict[str, float]:  # noqa: ARG002
        """Further metrics: what a choice costs, above all."""
        return {}

    # -- the study -------------------------------------------------------------------------------------------

    @property
    def members(self) -> list[str]:
        """The members of the model folder that are used."""
        model, without = self.settings.model, self.settings.without
        if model is None:
            return []
        components.list_components(model)
        return [name for name in components.active_components(model) if name not in without]

    @cached_property
    def _meta(self) -> dict[str, Any]:
        settings = self.settings
        found = {name: read_manifest((settings.model or Path()) / name).digest for name in self.members}
        shared = settings.model_dump(mode="json", include={"kind", "task", "queries", "held_out", "seed"})
        return {
            "format": FORMAT,
            "corpus": Corpus.open(self.corpus).version,
            "members": found,
            **self._bm25,
            **shared,
            **self._identity,
        }

    @property
    def _bm25(self) -> dict[str, Any]:
        """k1 and b of the index that is given, where they are not the usual ones: the scores depend on them."""
        if self.settings.index is None:
            return {}
        changed = current_meta(self.settings.index).get("bm25")
        return {"bm25": changed} if changed else {}

    @property
    def _index(self) -> Path:
        """The index folder of commands."""
        return self.settings.index or INDEX

    @property
    def _stands_for(self) -> list[str]:
        """A note, where the commands name an index folder that the sweep was not given."""
        if self.settings.index is not None:
            return []
        return [f"{INDEX} stands for your index folder of this corpus."]

    @property
    def _model(self) -> list[str]:
        """The option that names the model folder."""
        return ["--model", str(self.settings.model)] if self.settings.model is not None else []

    @cached_property
    def folder(self) -> Path:
        """Where the scores are kept."""
        digest = hashlib.sha256(json.dumps(self._meta, sort_keys=True).encode()).hexdigest()[:12]
        return self.shared / f"{self.settings.kind}-{digest}"

    def prepare(self) -> None:
        """Score what the trials share, unless that was done before."""
        if holds(self.folder, kind=self._kind, meta=self._meta):
            return
        meta = dict(self._meta)
        with publish(self.folder, kind=self._kind, meta=meta, replace=self.folder.exists()) as folder:
            queries = self._make(folder)
            meta["tuning"] = queries.tuning
            relevant = queries.task.relevant
            save(folder, {"cited.indptr": relevant.indptr, "cited.indices": relevant.indices})

    def run(self, params: Mapping[str, Any], report: Report, folder: Path) -> dict[str, float]:  # noqa: ARG002
        """The metrics of a choice of parameters on the trials' queries; a trial has no learning curve here."""
        params = self.checked(params)
        return means(self.hits(params), self.metrics) | self._more(params)

    def hits(self, params: Mapping[str, Any], *, held_out: bool = False) -> Hits:
        """Where the cited papers of the trials' queries stand, or of those that were kept from the trials."""
        queries = slice(self.tuning, len(self.cited)) if held_out else slice(0, self.tuning)
        return self._hits(self.checked(params), queries)

    def confirm(
        self, params: Mapping[str, Any], metric: str, other: Mapping[str, Any] | None = None
    ) -> Comparison:
        """A choice against another, by default the defaults, on the queries that no trial saw: a paired t-test.

        Raises:
            InputError: no queries were held out.
        """
        values = [
            Metric.parse(metric).per_query(self.hits(given, held_out=True)) for given in (params, other or {})
        ]
        return compare(values[0], values[1])

    def checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters, each of its type.

        Raises:
            ConfigError: an unknown key, or a value that its type does not take.
        """
        keys, result = self.keys, {}
        for name, value in params.items():
            if name not in keys:
                raise ConfigError(f"unknown key {name!r}", where=self.settings.kind, hint=nearest(name, keys))
            try:
                result[name] = TypeAdapter(keys[name]).validate_python(value)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                message = first["msg"][0].lower() + first["msg"][1:]
                raise ConfigError(f"{name}: {message}, got {value!r}", where=self.settings.kind) from error
        return result

    # -- the cache -------------------------------------------------------------------------------------------

    @property
    def _kind(self) -> str:
        return f"{self.settings.kind}-scores"

    @cached_property
    def tuning(self) -> int:
        """T, how many queries the trials see."""
        return int(self._manifest.meta["tuning"])

    @cached_property
    def cited(self) -> CSR:
        """What each query cites, the T of the trials first."""
        return CSR(self._array("cited.indptr"), self._array("cited.indices"))

    @cached_property
    def _manifest(self) -> Any:
        if not self.folder.is_dir():
            raise NotFoundError(
                "the scores that all trials share are not there", where=str(self.folder), hint="prepare first"
            )
        return open_verified_once(self.folder, kind=self._kind)

    def _array(self, name: str) -> NDArray[Any]:
        """An array of the cache, memory-mapped: all processes of a machine share one copy."""
        assert self._manifest
        return load_array(self.folder / f"{name}.npy")

    def __getstate__(self) -> dict[str, Any]:
        kept = ("settings", "corpus", "shared", "metrics")
        return {name: self.__dict__[name] for name in kept}


def save(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays of a cache."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def one_of(values: tuple[Any, ...]) -> Any:
    """The annotation of a parameter that takes these values alone."""
    return Literal.__getitem__(values)
