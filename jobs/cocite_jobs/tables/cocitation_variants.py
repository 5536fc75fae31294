"""The variants of MP-BERT4CR that its tables compare, trained into a model folder where they are missing."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.systems.mp_bert4cr.recipe import NONE
from cocite.systems.mp_bert4cr.sentence_texts import KIND as TEXTS
from cocite.systems.mp_bert4cr.token_vectors import KIND as WORDS
from cocite_jobs.storage.location import Location
from cocite_jobs.tables.cocitation import Model
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import open_session
from cocite_jobs.training.training_run import TrainingRun
from cocite_jobs.training.types import LaunchOptions

FINETUNING = "mp-bert4cr-small"
"""Recipe that is taken unless another one is named."""
VARIANTS = {
    "triplet": ("objective.loss=triplet",),
    "mpt-src": ("objective.loss=mpt-src",),
    "mpt-tgt": ("objective.loss=mpt-tgt",),
    "mpt-src-tgt": ("objective.loss=mpt-src-tgt",),
    "no_dynamic": ("objective.loss=mpt-src-tgt", "contexts.fixed=true"),
}
"""Row of Tables 3 and 4 -> what it changes in the recipe."""
FOLDER = "ablations"
"""Folder of a model folder that holds its variants, each a model folder of its own."""

Bar = Callable[[str, int | None], Any]


def variants(
    corpus: Corpus,
    model: Path,
    *,
    pretraining: str = NONE,
    recipe: str = FINETUNING,
    overrides: Sequence[str] = (),
    manner: LaunchOptions | None = None,
    bar: Bar | None = None,
) -> list[Model]:
    """The model folders of :data:`VARIANTS`; what is missing is trained, and pretrained first where that is missing.

    A training that was stopped is gone on with. All variants begin with the same sentences, word vectors and
    pretrained weights.

    Args:
        corpus: to train on.
        model: the model folder; variants are kept in its ``ablations/``.
        pretraining: name or path of the recipe of the pretrained weights; ``none``: variants begin as the
            recipe says.
        recipe: name or path of the recipe that the variants differ from by one thing.
        overrides: ``key.path=value`` for both recipes, before a variant's own.
        manner: where to train.
        bar: makes a progress bar from a description and a total.
    """
    progress = bar or (lambda *_: nullcontext(lambda _=1: None))
    manner = manner or LaunchOptions()
    first: Any = load_recipe(pretraining, overrides) if pretraining != NONE else None
    begin = [f"pretrained={first.kind if first else NONE}"]
    parts = [TEXTS, WORDS, *([first.kind] if first else [])]
    folders = {name: model / FOLDER / name for name in VARIANTS}
    for name, folder in folders.items():
        settings: Any = load_recipe(recipe, [*overrides, *begin, *VARIANTS[name]])
        if (folder / settings.kind).is_dir():
            continue
        if first and not (model / first.kind).is_dir():
            _train(first, corpus, model, manner, progress, first.kind)
        for part in parts:
            _share(part, [model, *folders.values()], folder)
        _train(settings, corpus, folder, manner, progress, name)
    return [Model(folder, name) for name, folder in folders.items()]


def _train(recipe: Any, corpus: Corpus, to: Path, manner: LaunchOptions, bar: Bar, name: str) -> None:
    """Train, or go on with what an earlier call began."""
    begun = TrainingRun.of(recipe, Location.of(to)).read_state()
    start = "resume" if begun is not None and not begun.finished else manner.start
    how = LaunchOptions(start, manner.on, manner.address, manner.wait, manner.verbose, manner.source)
    with bar(f"training {name}", None) as advance, open_session(recipe, corpus, to, how) as training:
        training.train(ProgressFunctions(advance=advance))


def _share(part: str, holders: Sequence[Path], to: Path) -> None:
    """Give an artifact a second place at no cost: its files are linked, for an artifact's files never change."""
    source = next((holder / part for holder in holders if (holder / part).is_dir()), None)
    if source is None or (to / part).is_dir():
        return
    to.mkdir(parents=True, exist_ok=True)
    temporary = to / f".{part}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        shutil.copytree(source, temporary, copy_function=os.link)
        temporary.rename(to / part)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
