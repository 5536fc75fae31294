"""Gives a registered alias to a sweep's model if it is significantly better on dev than the present holder.

The endpoint loads its model by alias, so this decides which model is served next.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import experiment, systems, tasks
from cocite.evaluation.metrics import Metric
from cocite.evaluation.significance import compare
from cocite.pipeline.golden_queries import FOLDER, GoldenQueries
from cocite.retrieval.index.index import Index
from cocite.training.engine.settings import WorkerSettings
from cocite_jobs.steps.files import place_of
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import fetch
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
CONTENDER, HOLDER, ANSWERED = "contender", "holder", "answered"
"""Names of the models, and of the folder with the contender's golden queries."""
PAPERS = "papers"
"""Name of what a worker gives beside the models' metrics: the paper that each query comes from."""
COPIES = ".champion"
"""Folder of both models in that of a sweep, while a worker reads them."""
AGAIN = "pass --resume to go on with the sweep"


@dataclass(frozen=True)
class ChampionOnWorker:
    """Where a worker of the cluster finds two models that it compares, and the one whose golden queries it makes.

    Attributes:
        place: a folder that workers see, in which the models lie meanwhile.
        source: path or URI under which workers find the corpus.
        workers: the resources of one of these are reserved.
        wait: for a node that has them.

    Example:
        >>> where = ChampionOnWorker(Location.of("/data/sweep"), "s3://bucket/corpus", WorkerSettings(cpus=4))
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
    on_worker: ChampionOnWorker | None = None,
) -> PromotionResult | None:
    """Compare a model with the holder of an alias, and register it if it is better or the alias has no holder.

    Args:
        settings: name, alias, and how the two models are compared.
        model: the model folder of the contender.
        corpus: whose dev queries are ranked, with the history before dev.
        store: of the registered models.
        run: the MLflow run that a new version belongs to.
        on_worker: where a worker of the present Ray compares the models, and makes the golden queries of the better
            one; None: this process does both.

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
                (new, papers), (old, _) = (
                    _metric_per_query(settings, each, corpus) for each in (model, holder)
                )
            else:
                models = {CONTENDER: model, HOLDER: holder}
                new, old, papers = _measure_on_worker(settings, models, corpus, on_worker)
            try:
                comparison = compare(new, old, papers)
            except InputError as error:  # the dev queries are of one paper
                return PromotionResult(name, alias, False, holder_version, None, error.message)
        run.log_metrics({"champion.difference": comparison.difference, "champion.p": comparison.p})
        if not is_better(comparison, level=settings.level):
            run.set_tag("champion", "stays")
            return PromotionResult(name, alias, False, holder_version, comparison)
    if note := _keep_golden_queries(settings, model, corpus, on_worker):
        LOG.warning("%s", note)
        run.set_tag("golden queries", note)
    version = register_model(model, name, alias, tracking=store, run=run)
    run.set_tag("champion", f"{name}@{alias}, version {version}")
    return PromotionResult(name, alias, True, version, comparison)


def _metric_per_query(
    settings: ChampionSettings, model: Path, corpus: Corpus
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """(Q,) the metric of each dev query, ranked by the system with the components of a model folder, and its paper."""
    metric = Metric.parse(settings.metric)
    task = tasks.build(corpus, settings.task, SPLIT, sample=settings.sample)
    (system,) = systems.select(model, [settings.system], where="champion.system")
    encoders = systems.encoders_for(model, [system])
    index = Index.build(corpus, tasks.history_before(corpus, SPLIT), encoders=encoders)
    rank = systems.open_system(system, model, index)
    run = experiment.run(task, rank, k=max(DEPTH, metric.k or DEPTH))
    return metric.per_query(run.hits), task.papers


def _measure_on_worker(
    settings: ChampionSettings, models: Mapping[str, Path], corpus: Corpus, where: ChampionOnWorker
) -> Iterator[NDArray[Any]]:
    """The metrics of each model, then the queries' papers, see :func:`_metric_per_query`; computed by a worker."""
    from cocite_jobs.training.worker_task import WorkerTask, run_on_worker

    task = WorkerTask(
        partial(_measure, settings),
        doing="comparing with the champion",
        again=AGAIN,
        mark=".comparison",
        workers=where.workers,
        folder="the sweep's folder",
        wait=where.wait,
    )
    with _copies(models, where) as copies:
        measured = run_on_worker(task, corpus, where.source, copies, ProgressFunctions())
    return (np.array(measured[name]) for name in (*models, PAPERS))


def _measure(
    settings: ChampionSettings,
    corpus: Corpus,
    copies: Location,
    progress: ProgressCallback,  # noqa: ARG001
) -> dict[str, list[float]]:
    """The metrics of the two models in a folder, by their names, and the papers; in the process of a task."""
    measured: dict[str, list[float]] = {}
    for name in (CONTENDER, HOLDER):
        with _copy(copies / name) as model:
            values, papers = _metric_per_query(settings, model, corpus)
        measured |= {name: values.tolist(), PAPERS: papers.tolist()}
    return measured


def _keep_golden_queries(
    settings: ChampionSettings, model: Path, corpus: Corpus, where: ChampionOnWorker | None
) -> str:
    """Make the golden queries of a model where its champion names an index, on a worker if there is one.

    Returns:
        See :func:`cocite_jobs.training.golden.golden_note`.
    """
    if where is None or settings.index is None:
        return golden_note(model, settings.index)
    from cocite_jobs.training.worker_task import WorkerTask, run_on_worker

    task = WorkerTask(
        partial(_make_golden_queries, place_of(settings.index)),
        doing="making the champion's golden queries",
        again=AGAIN,
        mark=".golden",
        workers=where.workers,
        folder="the sweep's folder",
        wait=where.wait,
    )
    with _copies({CONTENDER: model}, where) as copies:
        note = run_on_worker(task, corpus, where.source, copies, ProgressFunctions())["note"]
        with _copy(copies / ANSWERED) as answered:
            if (golden := GoldenQueries.open(answered)) is not None:
                golden.save(model)
    return str(note)


def _make_golden_queries(
    index: str,
    corpus: Corpus,  # noqa: ARG001
    copies: Location,
    progress: ProgressCallback,  # noqa: ARG001
) -> dict[str, str]:
    """Put the golden queries of the contender beside it; in the process of a task."""
    with _copy(copies / CONTENDER) as model:
        note = golden_note(model, fetch(index))  # a worker that sees none says so in the note
        put_components(copies / ANSWERED, Location.of(model), lambda name: name == FOLDER)
    return {"note": note}


@contextmanager
def _copies(models: Mapping[str, Path], where: ChampionOnWorker) -> Iterator[Location]:
    """A folder that workers see with models by their names, while the context is open."""
    copies = where.place / COPIES
    try:
        copies.clear()  # those of a driver that was killed
        for name, model in models.items():
            put_components(copies / name, Location.of(model), lambda _: True)
        yield copies
    finally:
        copies.clear()


@contextmanager
def _copy(model: Location) -> Iterator[Path]:
    """A model as a folder of this machine, while the context is open."""
    with tempfile.TemporaryDirectory(prefix="cocite-champion-") as folder:
        put_components(Location.of(folder), model, lambda _: True)
        yield Path(folder)
