"""Trains the learned fusion of a model folder on the dev split, with the history before it."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_training import FusionRecipe, examples, learn
from cocite.pipeline.members import load_encoders, load_nnrank
from cocite.pipeline.second_stage import SecondStage
from cocite.reranking.learned_fusion import LearnedFusion
from cocite.retrieval.index import Index
from cocite_jobs.train import Report, Trained


def train_fusion(
    recipe: FusionRecipe,
    corpus: Corpus,
    to: Path,
    report: Report,
    *,
    fresh: bool = False,  # noqa: ARG001  (minutes long: it starts anew every time)
    index: Index | None = None,
) -> Trained:
    """Train on what the folder's other members score, and write ``to/fusion``.

    Args:
        recipe: what is trained on what.
        corpus: papers, links and contexts, with a dev split.
        to: model folder.
        report: whom to tell.
        fresh: not used.
        index: an index of the corpus in memory, whose history holds what came before dev; built when not given.
    """
    began = time.monotonic()
    history = tasks.history_before(corpus, "dev")
    encoders = load_encoders(to) if recipe.vectors else []
    if index is None:
        report.stage("indexing", 0)
        index = Index.build(corpus, History(corpus, np.asarray(history.citing)), encoders=encoders)
    else:
        index = index.with_history(history)
    first = FirstStage(index, [encoder for encoder in encoders if encoder.name in index.vectors])
    second = SecondStage(index, nnrank=load_nnrank(to, index))
    fusions: dict[str, LearnedFusion] = {}
    metrics: dict[str, float] = {}
    details: dict[str, object] = {}
    for kind in recipe.tasks:
        try:
            task = tasks.build(corpus, kind, "dev", sample=recipe.queries, seed=recipe.seed)
        except InputError as error:
            details[f"{kind} left out"] = error.message
            continue
        depth = recipe.local_depth if kind == "local" else recipe.global_depth
        report.stage(f"{kind} candidates", len(task))
        data = examples(
            first,
            second,
            task.queries,
            task.relevant,
            depth=depth,
            without=recipe.without,
            advance=report.advance,
        )
        report.stage(f"{kind} trees", 0)
        fusions[kind], measured = learn(data, recipe)
        metrics |= {f"{kind} {name}": value for name, value in measured.items()}
        best = [name for name, _ in fusions[kind].importance()[:5]]
        details[f"{kind} queries"] = len(task)
        details[f"{kind} best signals"] = ", ".join(best)
    if not fusions:
        raise InputError("the dev split has no queries to train a fusion on", where=str(corpus.path))
    meta = {"recipe": recipe.model_dump(mode="json"), "corpus": corpus.version, "dev": metrics}
    LearnedFusion.save_all(to / "fusion", fusions, meta)
    report.log(metrics, 0)
    return Trained(to / "fusion", metrics, {"seconds": time.monotonic() - began, **details})
