"""The variants of MP-BERT4CR that its tables compare, trained into a model folder where they are missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.hard_links import link_artifact
from cocite.manifests import holds
from cocite.progress_bars import ProgressBars, no_bars
from cocite.systems.mp_bert4cr.recipe import NONE
from cocite.systems.mp_bert4cr.sentence_texts import KIND as TEXTS
from cocite.systems.mp_bert4cr.token_vectors import KIND as WORDS
from cocite.training.input_artifacts import determining_settings
from cocite_jobs.tables.cocitation_systems import ModelFolder
from cocite_jobs.tables.same_recipe import require_same
from cocite_jobs.training.inputs import needed_inputs
from cocite_jobs.training.progress import progress_on_bars
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.resuming import train_or_resume
from cocite_jobs.training.types import LaunchOptions

FINETUNING = "mp-bert4cr-small"
"""The recipe by default."""
VARIANTS = {
    "triplet": ("objective.loss=triplet",),
    "mpt-src": ("objective.loss=mpt-src",),
    "mpt-tgt": ("objective.loss=mpt-tgt",),
    "mpt-src-tgt": ("objective.loss=mpt-src-tgt",),
    "no_dynamic": ("objective.loss=mpt-src-tgt", "contexts.fixed=true"),
}
"""Row of Tables 3 and 4 -> changes to the recipe."""
WORDS_ONLY = ("model.reads=words", "model.document_layers=0")
"""A manuscript or a paper is a weighted mean of its words' vectors, where the recipe has no layers over tokens."""
CONTROL_VARIANTS = {
    "words only": (
        *("objective.loss=mpt-src-tgt", *WORDS_ONLY),
        *("model.sentence_layers=0", f"pretrained={NONE}"),
    ),
    "0 positives": ("objective.loss=mpt-src-tgt", "positives.count=0"),
}
"""What the paper has not: each differs from the row mpt-src-tgt by one thing."""
FOLDER = "ablations"
"""Folder of a model folder that holds its variants, each a model folder of its own."""


def train_variants(
    corpus: Corpus,
    model: Path,
    *,
    pretraining: str = NONE,
    recipe: str = FINETUNING,
    overrides: Sequence[str] = (),
    pretraining_overrides: Sequence[str] | None = None,
    only: Sequence[str] | None = None,
    options: LaunchOptions | None = None,
    bars: ProgressBars = no_bars,
) -> list[ModelFolder]:
    """Train the variants that are missing, and pretrain first where that is missing.

    A training that was stopped is resumed. All variants begin with the same sentences, word vectors and pretrained
    weights.

    Args:
        corpus: to train on.
        model: the model folder; variants are kept in its ``ablations/``.
        pretraining: name or path of the recipe of the pretrained weights; ``none``: variants begin as the
            recipe says.
        recipe: name or path of the recipe that the variants differ from by one thing.
        overrides: ``key.path=value`` for both recipes, before a variant's own.
        pretraining_overrides: those of the pretraining; None: the same.
        only: some of :data:`VARIANTS` and :data:`CONTROL_VARIANTS`; by default all of the first.
        options: how and where to train.
        bars: of each training.

    Returns:
        The model folder of each variant, with the variant's name as its label.

    Example:
        ``cocite evaluate cocitation --train`` measures what this returns::

            folders = train_variants(corpus, Path("model"), pretraining="mp-bert4cr-pretraining-small")

        >>> VARIANTS["no_dynamic"]
        ('objective.loss=mpt-src-tgt', 'contexts.fixed=true')
    """
    names = list(VARIANTS if only is None else only)
    before = overrides if pretraining_overrides is None else pretraining_overrides
    first: Any = load_recipe(pretraining, before) if pretraining != NONE else None
    begin = [f"pretrained={first.kind if first else NONE}"]
    parts = [TEXTS, WORDS, *([first.kind] if first else [])]
    changes = {**VARIANTS, **CONTROL_VARIANTS}
    folders = {name: model / FOLDER / name for name in changes}
    for name in names:
        folder = folders[name]
        settings: Any = load_recipe(recipe, [*overrides, *begin, *changes[name]])
        if (folder / settings.kind).is_dir():
            require_same(folder / settings.kind, settings)
            continue
        if first:
            train_missing(first, corpus, model, options, bars, first.kind)
        for part in parts:
            link_part(part, [model, *folders.values()], folder)
        train_missing(settings, corpus, folder, options, bars, name)
    return [ModelFolder(folders[name], name) for name in names]


def train_missing(
    recipe: Any, corpus: Corpus, to: Path, options: LaunchOptions | None, bars: ProgressBars, name: str
) -> None:
    """Train a recipe, or resume the training that an earlier call began, unless its model is there.

    Args:
        recipe: of any kind.
        corpus: to train on.
        to: the model folder.
        options: how and where to train.
        bars: of the training.
        name: of the training, for its bar.

    Raises:
        InputError: a model is there, of other settings.
    """
    if (to / recipe.kind).is_dir():
        # As a stop leaves a pretraining: the manifest of what begins with it would not tell that it was another.
        return require_same(to / recipe.kind, recipe)
    with progress_on_bars(bars, f"training {name}") as progress:
        train_or_resume(recipe, corpus, to, progress, options)


def link_part(part: str, holders: Sequence[Path], to: Path) -> None:
    """Put an artifact into a second folder without copying its files.

    Args:
        part: name of the artifact.
        holders: folders of which one may hold it.
        to: the second folder; nothing is done where it holds the artifact already.
    """
    source = next((holder / part for holder in holders if (holder / part).is_dir()), None)
    if source is not None and not (to / part).is_dir():
        to.mkdir(parents=True, exist_ok=True)
        link_artifact(source, to)


def link_inputs(recipe: Any, corpus: Corpus, holders: Sequence[Path], to: Path) -> None:
    """Put what a training needs besides the corpus into its model folder, where another one has it already.

    Args:
        recipe: of the training.
        corpus: that it is trained on.
        holders: model folders; of each input the first is taken that has it of this corpus and the recipe's settings.
        to: the model folder of the training, which holds the recipe's trunk.
    """
    for need in needed_inputs(recipe):
        part = need.prepared.artifact
        made_of = {"corpus": corpus.version, "settings": determining_settings(need.settings)}
        link_part(part, [holder for holder in holders if holds(holder / part, kind=part, meta=made_of)], to)
