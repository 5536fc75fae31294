"""The base of the studies without training: trials over cached scores, and a comparison on held-out queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, nearest
from cocite.evaluation.hits import Hits
from cocite.evaluation.metrics import Metric, means
from cocite.evaluation.significance import Comparison, compare
from cocite.manifests import MANIFEST, read_manifest
from cocite.pipeline import components
from cocite.retrieval.index.snapshot import current_meta
from cocite_jobs.storage.cache import fetch_local
from cocite_jobs.storage.location import Location
from cocite_tuning.studies.dev_queries import DevQueries
from cocite_tuning.studies.links import folder_below
from cocite_tuning.studies.score_cache import ScoreCache, save_arrays
from cocite_tuning.studies.score_settings import ScoreSettings
from cocite_tuning.studies.study import ReportMetrics
from cocite_tuning.studies.usage import INDEX, UsageCommands

FORMAT = 2
"""Part of every cache's name; to be raised when the content of the caches changes its form."""

S = TypeVar("S", bound=ScoreSettings)


class ScoreStudy(ABC, Generic[S]):
    """A study over cached scores; a :class:`~cocite_tuning.studies.study.Study`.

    A subclass defines how the cache is filled (:meth:`_fill_cache`) and where a choice of parameters ranks the cited
    papers (:meth:`_compute_hits`). A study holds nothing but its settings until a trial opens the cache, so it can be
    sent to other processes.

    Args:
        settings: of the study.
        corpus: the corpus store's folder.
        shared: the folder of the caches.

    Attributes:
        metrics: names of the metrics of each trial.
        elsewhere: URI of a folder to which :meth:`prepare` uploads the cache, where other machines run trials; they
            fetch it, and see neither the corpus nor the model. Empty: all see the folder of the caches.

    Raises:
        ConfigError: a metric looks deeper than the papers that the cache keeps of each query.

    Example:
        :class:`~cocite_tuning.studies.bm25.Bm25Study` is one: prepared once, it scores many choices of k1 and b.

        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite_tuning.studies.bm25 import Bm25Study
        >>> from cocite_tuning.studies.bm25_settings import Bm25StudySettings
        >>> settings = Bm25StudySettings(task="global", queries=20, fields=("text",), forms=("title",), pool=100)
        >>> with tempfile.TemporaryDirectory() as shared:
        ...     study = Bm25Study(settings, starter_corpus().path, Path(shared))
        ...     study.prepare()
        ...     study.confirm({"k1": 0.5}, "MRR").queries  # the held-out ones
        6
    """

    in_process: ClassVar[bool] = True

    def __init__(self, settings: S, corpus: Path, shared: Path) -> None:
        self.settings, self.corpus, self.shared = settings, corpus, shared
        self.metrics, self.elsewhere, self._copied_from = settings.metric_names, "", ""
        for name in self.metrics:
            cutoff = Metric.parse(name).k
            if cutoff is not None and self._deepest_cutoff is not None and cutoff > self._deepest_cutoff:
                raise ConfigError(
                    f"{name} looks deeper than the {self._deepest_cutoff} papers that are kept of each query",
                    where="metrics",
                    hint=f"name metrics that look no deeper than {self._deepest_cutoff}",
                )

    # -- what a subclass defines -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def parameter_types(self) -> Mapping[str, Any]:
        """Dotted name -> annotation of each parameter."""

    @property
    def _deepest_cutoff(self) -> int | None:
        """The deepest cutoff of a metric for which the cache holds enough papers; None: any."""
        return None

    @property
    @abstractmethod
    def _cache_settings(self) -> dict[str, Any]:
        """The subclass's own settings that the cache depends on."""

    @abstractmethod
    def _fill_cache(self, folder: Path) -> DevQueries:
        """Write the scores into a folder, and return the queries that they belong to."""

    @abstractmethod
    def _compute_hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        """Rank the cited papers of some queries under a choice of parameters."""

    @abstractmethod
    def usage(self, params: Mapping[str, Any], corpus: str, best: Path) -> UsageCommands:
        """The commands that use a choice of parameters; see :class:`~cocite_tuning.studies.usage.Exportable`."""

    def export(self, params: Mapping[str, Any], folder: Path) -> None:
        """Write an artifact that uses the parameters into a folder; nothing, where commands suffice."""

    extra_metric_names: ClassVar[tuple[str, ...]] = ()
    """The names of :meth:`_extra_metrics`."""

    def _extra_metrics(self, params: Mapping[str, Any]) -> dict[str, float]:  # noqa: ARG002
        """Metrics beyond those of the ranking, such as the latency."""
        return {}

    # -- the study -------------------------------------------------------------------------------------------

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics that a trial ends with."""
        return (*self.metrics, *self.extra_metric_names)

    @property
    def used_components(self) -> list[str]:
        """The components of the model folder that are used."""
        model, without = self.settings.model, self.settings.without
        if model is None:
            return []
        components.list_components(model)
        return [name for name in components.active_components(model) if name not in without]

    def prepare(self, *, wait: bool = False) -> None:  # noqa: ARG002  (this process computes them)
        """Compute the scores that the trials share, unless the cache is complete, and upload them if need be."""
        if not self.elsewhere:
            self._complete()
            return
        place = Location.of(folder_below(self.elsewhere, self._cache.folder.name))
        if MANIFEST in place.names():
            place.get(self._cache.folder)
        if not self._cache.is_complete():
            self._complete()
            place.put(self._cache.folder)

    def _complete(self) -> None:
        """Compute the scores, unless the cache is complete."""
        if self._cache.is_complete():
            return
        with self._cache.build() as (folder, meta):
            queries = self._fill_cache(folder)
            meta["tuning"] = queries.tuning_count
            relevant = queries.task.relevant
            save_arrays(
                folder,
                {
                    "cited.indptr": relevant.indptr,
                    "cited.indices": relevant.indices,
                    "citing": queries.task.papers,
                },
            )

    def run(
        self,
        params: Mapping[str, Any],
        report: ReportMetrics,  # noqa: ARG002
        folder: Path,  # noqa: ARG002
    ) -> dict[str, float]:
        """The metrics of a choice of parameters on the trials' queries; these trials have no learning curve."""
        params = self.parse_params(params)
        return means(self.hits(params), self.metrics) | self._extra_metrics(params)

    def hits(self, params: Mapping[str, Any], *, held_out: bool = False) -> Hits:
        """The ranks of the cited papers of the trials' queries, or of the held-out ones."""
        queries = slice(self.tuning_count, len(self.cited)) if held_out else slice(0, self.tuning_count)
        return self._compute_hits(self.parse_params(params), queries)

    def confirm(
        self, params: Mapping[str, Any], metric: str, other: Mapping[str, Any] | None = None
    ) -> Comparison:
        """Compare a choice of parameters with another, by default the default, on the held-out queries.

        Returns:
            A paired t-test over the papers of the queries that no trial used.

        Raises:
            InputError: queries of fewer than two papers were held out.
        """
        values = [
            Metric.parse(metric).per_query(self.hits(choice, held_out=True))
            for choice in (params, other or {})
        ]
        return compare(values[0], values[1], self._cache.array("citing")[self.tuning_count :])

    def parse_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Convert each parameter to its type.

        Raises:
            ConfigError: an unknown key, or a value that its type does not accept.
        """
        types, result = self.parameter_types, {}
        for name, value in params.items():
            if name not in types:
                raise ConfigError(
                    f"unknown key {name!r}", where=self.settings.kind, hint=nearest(name, types)
                )
            try:
                result[name] = TypeAdapter(types[name]).validate_python(value)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                message = first["msg"][0].lower() + first["msg"][1:]
                raise ConfigError(f"{name}: {message}, got {value!r}", where=self.settings.kind) from error
        return result

    # -- words of commands -----------------------------------------------------------------------------------

    @property
    def _index_folder(self) -> Path:
        """The index folder that commands name."""
        return self.settings.index or INDEX

    @property
    def _index_notes(self) -> list[str]:
        """A note where the commands name an index folder that the sweep was not given."""
        if self.settings.index is not None:
            return []
        return [f"{INDEX} stands for your index folder of this corpus."]

    @property
    def _model_option(self) -> list[str]:
        """The option that names the model folder, if there is one."""
        return ["--model", str(self.settings.model)] if self.settings.model is not None else []

    # -- the cache -------------------------------------------------------------------------------------------

    @cached_property
    def _cache(self) -> ScoreCache:
        if self._copied_from:
            return ScoreCache.published(fetch_local(self._copied_from), self.settings.kind)
        return ScoreCache(self.shared, self.settings.kind, self._cache_meta)

    @cached_property
    def _cache_meta(self) -> dict[str, Any]:
        """Everything that the scores depend on."""
        settings = self.settings
        digests = {
            name: read_manifest((settings.model or Path()) / name).digest for name in self.used_components
        }
        shared = settings.model_dump(mode="json", include={"kind", "task", "queries", "held_out", "seed"})
        return {
            "format": FORMAT,
            "corpus": Corpus.open(self.corpus).version,
            "members": digests,
            **self._changed_bm25,
            **shared,
            **self._cache_settings,
        }

    @property
    def _changed_bm25(self) -> dict[str, Any]:
        """The given index's k1 and b where they are not the usual ones: the scores depend on them."""
        if self.settings.index is None:
            return {}
        changed = current_meta(self.settings.index).get("bm25")
        return {"bm25": changed} if changed else {}

    @property
    def folder(self) -> Path:
        """The folder of the cached scores."""
        return self._cache.folder

    @cached_property
    def tuning_count(self) -> int:
        """T, how many queries the trials use."""
        return int(self._cache.meta["tuning"])

    @cached_property
    def cited(self) -> CSR:
        """The papers that each query cites, the T queries of the trials first."""
        return CSR(self._cache.array("cited.indptr"), self._cache.array("cited.indices"))

    def __getstate__(self) -> dict[str, Any]:
        # What is opened or computed later belongs to its process: arrays are mapped again on the other side.
        kept = ("settings", "corpus", "shared", "metrics", "elsewhere", "_copied_from")
        state = {name: self.__dict__[name] for name in kept}
        if self.elsewhere:
            state["_copied_from"] = folder_below(self.elsewhere, self._cache.folder.name)
        return state


def literal_of(values: tuple[Any, ...]) -> Any:
    """The annotation ``Literal[values...]`` of a parameter that takes these values alone.

    Example:
        >>> literal_of((10, 20))
        typing.Literal[10, 20]
    """
    return Literal.__getitem__(values)
