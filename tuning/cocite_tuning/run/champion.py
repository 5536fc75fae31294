"""Gives a registered alias to a sweep's model if it is significantly better on dev than the present holder.

The endpoint loads its model by alias, so this decides which model is served next.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.evaluation import experiment, systems, tasks
from cocite.evaluation.metrics import Metric
from cocite.evaluation.significance import compare
from cocite.retrieval.index.index import Index
from cocite_jobs.training.golden import golden_note
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.registration import register_model
from cocite_mlflow.registry import download_model, version_of_alias
from cocite_mlflow.runs import MlflowRun
from cocite_tuning.sweep.promotion import PromotionResult
from cocite_tuning.sweep.result import is_better
from cocite_tuning.sweep.sweep import ChampionSettings

LOG = logging.getLogger("cocite.tune")
SPLIT = "dev"
DEPTH = 100
"""Papers ranked for each query, unless the metric looks deeper."""


def promote_if_better(
    settings: ChampionSettings, model: Path, corpus: Corpus, store: TrackingSettings, run: MlflowRun
) -> PromotionResult | None:
    """Compare a model with the holder of an alias, and register it if it is better or the alias has no holder.

    Args:
        settings: name, alias, and how the two models are compared.
        model: the model folder of the contender.
        corpus: whose dev queries are ranked, with the history before dev.
        store: of the registered models.
        run: the MLflow run that a new version belongs to.

    Returns:
        Who holds the alias, and why; None without tracking, where nothing can be registered.
    """
    if not run.id:
        return None
    name, alias = settings.register_as, settings.alias
    holder_version = version_of_alias(name, alias, tracking=store)
    comparison = None
    if holder_version is not None:
        with tempfile.TemporaryDirectory(prefix="cocite-champion-") as folder:
            holder = download_model(name, alias, folder, tracking=store)
            comparison = compare(
                _metric_per_query(settings, model, corpus), _metric_per_query(settings, holder, corpus)
            )
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
