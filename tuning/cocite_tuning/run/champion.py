"""A model contends for a registered alias: it takes it if it beats the present holder on dev, significantly.

The endpoint reads its model by alias, so what is decided here is what is served next.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.evaluation import experiment, systems, tasks
from cocite.evaluation.metrics import Metric
from cocite.evaluation.significance import Comparison, compare
from cocite.retrieval.index.index import Index
from cocite_mlflow.connection import TrackingSettings
from cocite_mlflow.registration import register_model
from cocite_mlflow.registry import download_model, version_of_alias
from cocite_mlflow.runs import MlflowRun
from cocite_tuning.run.result import is_better
from cocite_tuning.sweep.sweep import ChampionSettings

SPLIT = "dev"
DEPTH = 100
"""Papers ranked for each query, where the metric looks no deeper."""


@dataclass(frozen=True)
class Verdict:
    """What became of a contender.

    Attributes:
        name: of the registered model.
        alias: contended for.
        won: whether the contender holds it now.
        version: the version that holds it now.
        comparison: contender against the holder before; None: there was none to beat.
    """

    name: str
    alias: str
    won: bool
    version: int
    comparison: Comparison | None

    def sentence(self) -> str:
        """The verdict in words."""
        place = f"{self.name}@{self.alias}"
        c = self.comparison
        if c is None:
            return f"{place} is version {self.version} now; there was none before it"
        figures = f"{c.mean:.4f} against {c.other:.4f} on {c.queries} dev queries, p = {c.p:.2g}"
        if self.won:
            return f"{place} is version {self.version} now: {figures}"
        return f"{place} stays version {self.version}: {figures}"


def contend(
    settings: ChampionSettings, model: Path, corpus: Corpus, store: TrackingSettings, run: MlflowRun
) -> Verdict | None:
    """Compare a model with the holder of an alias, and register it if it wins.

    Args:
        settings: name, alias, and how the two are compared.
        model: the contender's model folder.
        corpus: whose dev queries ask, with the history before dev.
        store: of the registered models.
        run: the MLflow run that the new version belongs to.

    Returns:
        The verdict; None: nothing is tracked, hence nothing registered.
    """
    if not run.id:
        return None
    name, alias = settings.register_as, settings.alias
    present = version_of_alias(name, alias, tracking=store)
    comparison = None
    if present is not None:
        with tempfile.TemporaryDirectory(prefix="cocite-champion-") as folder:
            holder = download_model(name, alias, folder, tracking=store)
            comparison = compare(_judged(settings, model, corpus), _judged(settings, holder, corpus))
        run.log_metrics({"champion.difference": comparison.difference, "champion.p": comparison.p})
        if not is_better(comparison, level=settings.level):
            run.set_tag("champion", "stays")
            return Verdict(name, alias, False, present, comparison)
    version = register_model(model, name, alias, tracking=store, run=run)
    run.set_tag("champion", f"{name}@{alias}, version {version}")
    return Verdict(name, alias, True, version, comparison)


def _judged(settings: ChampionSettings, model: Path, corpus: Corpus) -> NDArray[np.float64]:
    """(Q,) the metric of each dev query."""
    metric = Metric.parse(settings.metric)
    task = tasks.build(corpus, settings.task, SPLIT, sample=settings.sample)
    (system,) = systems.select(model, [settings.system], where="champion.system")
    encoders = systems.encoders_for(model, [system])
    index = Index.build(corpus, tasks.history_before(corpus, SPLIT), encoders=encoders)
    rank = systems.open_system(system, model, index)
    outcome = experiment.run(task, rank, k=max(DEPTH, metric.k or DEPTH))
    return metric.per_query(outcome.hits)
