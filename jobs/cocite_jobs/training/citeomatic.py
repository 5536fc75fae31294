"""Trains NNSelect and NNRank and writes them into a model folder."""

from __future__ import annotations

import math
import shutil
import time
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import read_manifest
from cocite.pipeline.nnrank_comparison import nnrank_record
from cocite.systems.citeomatic.artifacts import load_encoder, save_nnrank, save_nnselect
from cocite.systems.citeomatic.cross_fitting import cross_fit
from cocite.systems.citeomatic.nnrank_task import NNRankRecipe, NNRankTask, nnrank_optimizers
from cocite.systems.citeomatic.nnselect_task import NNSelectRecipe, NNSelectTask, nnselect_optimizers
from cocite.text.fields import FieldEncoder
from cocite.training.loop import FitResult, fit
from cocite.training.periods import Periods
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.recipes import fingerprint
from cocite_jobs.training.types import TrainedArtifact


def _checkpoint(to: Path, kind: str, fresh: bool) -> Path:
    folder = to / f".{kind}.checkpoint"
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    return folder


def _meta(
    recipe: NNSelectRecipe | NNRankRecipe, corpus: Corpus, result: FitResult, metric: str
) -> dict[str, Any]:
    return {
        "recipe": recipe.model_dump(mode="json"),
        "corpus": corpus.version,
        "epoch": result.best_epoch,
        "dev": {name: round(value, 6) for name, value in result.best.items()},
        "notes": [result.kept(metric)],
    }


def _trained(folder: Path, result: FitResult, began: float, **details: object) -> TrainedArtifact:
    times = {
        "seconds": time.monotonic() - began,
        "best_epoch": result.best_epoch,
        "epochs": len(result.epochs) - 1,
    }
    return TrainedArtifact(folder, result.best, times | details)


def train_nnselect(
    recipe: NNSelectRecipe, corpus: Corpus, to: Path, progress: ProgressCallback, *, fresh: bool = False
) -> TrainedArtifact:
    """Train NNSelect and write ``to/nnselect``."""
    began = time.monotonic()
    checkpoint = _checkpoint(to, "nnselect", fresh)
    progress.stage("reading the corpus", 0)
    periods = Periods.of(corpus, recipe.period)
    fields = FieldEncoder.build(periods.history, recipe.fields)
    task = NNSelectTask(recipe, periods, fields)
    progress.stage("NNSelect", task.steps * recipe.loop.epochs)
    result = fit(
        task,
        nnselect_optimizers(task),
        recipe.loop,
        checkpoint=checkpoint,
        fingerprint=fingerprint(recipe, corpus),
        log=progress.log,
        advance=progress.advance,
    )
    save_nnselect(to / "nnselect", task.model, fields, _meta(recipe, corpus, result, task.metric))
    shutil.rmtree(checkpoint, ignore_errors=True)
    return _trained(to / "nnselect", result, began, words=len(fields.vocabularies["words"]))


def train_nnrank(
    recipe: NNRankRecipe, corpus: Corpus, to: Path, progress: ProgressCallback, *, fresh: bool = False
) -> TrainedArtifact:
    """Train NNRank on the NNSelect of the model folder, and write ``to/nnrank``."""
    began = time.monotonic()
    if not (to / "nnselect").is_dir():
        raise InputError(
            "holds no nnselect, which nnrank is trained on",
            where=str(to),
            hint="train nnselect into it first",
        )
    encoder = load_encoder(to)
    checkpoint = _checkpoint(to, "nnrank", fresh)
    progress.stage("reading the corpus", 0)
    periods = Periods.of(corpus, recipe.period)
    fields = FieldEncoder.build(periods.history, recipe.fields, metadata=bool(recipe.model.metadata))
    folds = None
    meta = read_manifest(to / "nnselect", kind="nnselect").meta
    epochs = int(meta["epoch"])  # 0: no training made NNSelect better, so it has seen no citation
    if recipe.objective.folds and recipe.model.nnselect and epochs:
        select = NNSelectRecipe.parse(meta["recipe"], where=str(to / "nnselect"))
        sizes = NNSelectTask(select, periods, encoder.fields).steps * epochs
        progress.stage("NNSelect for each fold", math.ceil(sizes * (recipe.objective.folds - 1)))
        folds = cross_fit(
            select, periods, encoder.fields, recipe.objective.folds, epochs, advance=progress.advance
        )
    task = NNRankTask(recipe, periods, fields, encoder, folds)
    progress.stage("NNRank", task.steps * recipe.loop.epochs)
    result = fit(
        task,
        nnrank_optimizers(task),
        recipe.loop,
        checkpoint=checkpoint,
        fingerprint=fingerprint(recipe, corpus, encoder.id),
        log=progress.log,
        advance=progress.advance,
    )
    progress.stage("comparing with the stages before", 0)
    meta = _meta(recipe, corpus, result, task.metric)
    record = nnrank_record(task, encoder, recipe.keep)
    meta |= record | {"notes": meta["notes"] + record["notes"]}
    save_nnrank(to / "nnrank", task.model, fields, meta, nnselect=encoder.id)
    shutil.rmtree(checkpoint, ignore_errors=True)
    return _trained(to / "nnrank", result, began, features=list(recipe.model.features))
