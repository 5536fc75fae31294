"""Gives a registered alias to a sweep's model if it is significantly better on dev than the present holder.

The endpoint loads its model by alias, so this decides which model is served next.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.evaluation import experiment, systems, tasks
from cocite.evaluation.metrics import Metric
from cocite.evaluation.significance import compare
from cocite.retrieval.index.index import Index
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.storage.location import Location
from cocite_jobs.training.golden import golden_note
from cocite_jobs.training.progress import ProgressCallback, ProgressFunctions
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.registration import register_model
from cocite_mlflow.registry import download_model, version_of_alias
from cocite_mlflow.runs import MlflowRun
from cocite_tuning.studies.links import put_components
from cocite_tuning.sweep.promotion import PromotionResult
from cocite_tuning.sweep.result import is_better
from cocite_tuning.sweep.sweep import ChampionSettings

LOG = logging.getLogger("cocite.tune")
SPLIT = "dev"
DEPTH = 100
"""Papers ranked for each query, unless the metric looks deeper."""
CONTENDER, HOLDER = "contender", "holder"
COPIES = ".champion"
"""Folder of both models in that of a sweep, while a worker compares them."""


@dataclass(frozen=True)
class ComparisonOnWorker:
    """Where a worker of the cluster finds two models that it compares.

    Attributes:
        place: a folder that workers see, in which the models lie meanwhile.
        source: path or URI under which workers find the corpus.
        workers: the resources of one of these are reserved.
        wait: for a node that has them.

    Example:
        >>> where = ComparisonOnWorker(Location.of("/data/sweep"), "s3://bucket/corpus", WorkerSettings(cpus=4))
        >>> (where.place / COPIES).uri
        '/data/sweep/.champion'
    """

    place: Location
    source: str
    workers: WorkerSettings
    wait: bool = False


def promote_if_better(
    settings: ChampionSettings,
    model: Path,
    corpus: Corpus,
    store: TrackingSettings,
    run: MlflowRun,
    on_worker: ComparisonOnWorker | None = None,
) -> PromotionResult | None:
    """Compare a model with the holder of an alias, and register it if it is better or the alias has no holder.

    Args:
        settings: name, alias, and how the two models are compared.
        model: the model folder of the contender.
        corpus: whose dev queries are ranked, with the history before dev.
        store: of the registered models.
        run: the MLflow run that a new version belongs to.
        on_worker: where a worker of the present Ray compares the models; None: this process compares them.

    Returns:
        Who holds the alias, and why; None without tracking, where nothing can be registered.

    Raises:
        CociteError: see :func:`cocite_jobs.training.worker_task.run_on_worker`.
    """
    if not run.id:
        return None
    name, alias = settings.register_as, settings.alias
    holder_version = version_of_alias(name, alias, tracking=store)
    comparison = None
    if holder_version is not None:
        with tempfile.TemporaryDirectory(prefix="cocite-champion-") as folder:
            holder = download_model(name, alias, folder, tracking=store)
            if on_worker is None:
                new, old = (_metric_per_query(settings, each, corpus) for each in (model, holder))
            else:
                new, old = _measure_on_worker(settings, {CONTENDER: model, HOLDER: holder}, corpus, on_worker)
            comparison = compare(new, old)
        run.log_metrics({"champion.difference": comparison.difference, "champion.p": comparison.p})
        if not is_better(comparison, level=settings.level):
            run.set_tag("champion", "stays")
            return PromotionResult(name, alias, False, holder_version, comparison)
    if note := golden_note(model, settings.index):
        LOG.warning("%s", note)
        run.set_tag("golden queries", note)
    version = register_model(model, name, alias, tracking=store, run=run)
    run.set_tag("champion", f"{name}@{alias}, version {version}")
    return PromotionResult(name, alias, True, version, comparison)


def _metric_per_query(settings: ChampionSettings, model: Path, corpus: Corpus) -> NDArray[np.float64]:
    """(Q,) the metric of each dev query, ranked by the system with the components of a model folder."""
    metric = Metric.parse(settings.metric)
    task = tasks.build(corpus, settings.task, SPLIT, sample=settings.sample)
    (system,) = systems.select(model, [settings.system], where="champion.system")
    encoders = systems.encoders_for(model, [system])
    index = Index.build(corpus, tasks.history_before(corpus, SPLIT), encoders=encoders)
    rank = systems.open_system(system, model, index)
    run = experiment.run(task, rank, k=max(DEPTH, metric.k or DEPTH))
    return metric.per_query(run.hits)


def _measure_on_worker(
    settings: ChampionSettings, models: Mapping[str, Path], corpus: Corpus, where: ComparisonOnWorker
) -> Iterator[NDArray[np.float64]]:
    """The metrics of each model, as :func:`_metric_per_query` gives them, computed by a worker of the cluster."""
    from cocite_jobs.training.worker_task import WorkerTask, run_on_worker

    task = WorkerTask(
        partial(_measure, settings),
        doing="comparing with the champion",
        again="pass --resume to go on with the sweep",
        mark=".comparison",
        workers=where.workers,
        folder="the sweep's folder",
        wait=where.wait,
    )
    copies = where.place / COPIES
    try:
        copies.clear()  # those of a driver that was killed
        for name, model in models.items():
            put_components(copies / name, Location.of(model), lambda _: True)
        measured = run_on_worker(task, corpus, where.source, copies, ProgressFunctions())
    finally:
        copies.clear()
    return (np.array(measured[name]) for name in models)


def _measure(
    settings: ChampionSettings,
    corpus: Corpus,
    copies: Location,
    progress: ProgressCallback,  # noqa: ARG001
) -> dict[str, list[float]]:
    """The metrics of the two models in a folder, by their names; in the process of a task."""
    measured = {}
    with tempfile.TemporaryDirectory(prefix="cocite-champion-") as temporary:
        for name in (CONTENDER, HOLDER):
            model = Path(temporary, name)
            put_components(Location.of(model), copies / name, lambda _: True)
            measured[name] = _metric_per_query(settings, model, corpus).tolist()
    return measured
