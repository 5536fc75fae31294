"""The variants of a Citeomatic model that its tables compare, trained into the model folder where they are missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.hard_links import link_artifact
from cocite.manifests import read_manifest
from cocite.progress_bars import ProgressBars
from cocite_jobs.tables.same_recipe import require_copy, require_same

ABLATIONS = "ablations"
"""Folder of a model folder that holds its variants, each a model folder of its own."""
METADATA = ("authors", "venue", "keyphrases")
"""Metadata that NNRank can read."""
TEXT_ONLY, WITH_METADATA = "text", "metadata"
"""Variants of Table 2: of an NNRank that reads metadata one without, and of one that reads text alone one with it."""
WITHOUT: dict[str, tuple[str, dict[str, Any]]] = {
    "without-intersection": ("without intersection", {"intersection": False}),
    "without-neighbour-negatives": ("without neighbour negatives", {}),
    "without-numerical": ("without numerical", {"nnselect": False, "in_citations": False}),
}
"""Variant of Table 3 -> (its row, what changes in NNRank's settings)."""
NO_NEIGHBOURS = "without-neighbour-negatives"
"""The variant whose NNSelect and NNRank are trained on other negatives."""
ENCODERS: dict[str, tuple[str, str]] = {
    "encoder-cnn": ("convolution (CNN)", "cnn"),
    "encoder-rnn": ("bidirectional GRU (RNN)", "rnn"),
}
"""Variant of section 5 -> (its row, NNSelect's ``model.encoder``)."""
SELECT_SHARE = 1 / 3
"""Part of a variant's minutes that its NNSelect gets, where it has one of its own; its NNRank gets the rest."""
ENCODER_TOKENS = 60_000
"""Words of a pass of the variants in :data:`ENCODERS`, at most: the vectors of all of them are held in order."""


class CiteomaticVariants:
    """Model folders that differ from a trained one by a few settings.

    Args:
        corpus: to train on.
        model: model folder with ``nnselect`` and ``nnrank``, whose manifests hold their recipes.
        bars: of the trainings.
        minutes: the most that a variant may train; a model's own limit holds if that is less. None: that alone.

    Example:
        A table's row is the ranking of a variant, which is trained in the first call::

            variants = CiteomaticVariants(corpus, Path("model"), no_bars)
            folder = variants.without("without-intersection")  # model/ablations/without-intersection

        >>> list(WITHOUT)
        ['without-intersection', 'without-neighbour-negatives', 'without-numerical']
    """

    def __init__(self, corpus: Corpus, model: Path, bars: ProgressBars, minutes: float | None = None) -> None:
        self.corpus, self.model, self.bars, self.minutes = corpus, model, bars, minutes

    def without(self, variant: str) -> Path:
        """The folder of a variant of Table 3, one of :data:`WITHOUT`."""
        _, changes = WITHOUT[variant]
        if variant != NO_NEIGHBOURS:
            return self._trained(variant, changes)
        return self._trained(variant, changes, select=without_neighbours, rank=without_neighbours)

    @property
    def seed(self) -> int:
        """The seed that the model's NNRank was trained with."""
        return int(self._nnrank_recipe().training.seed)

    def with_encoder(self, variant: str) -> Path:
        """The folder of a variant of section 5, one of :data:`ENCODERS`: its NNSelect reads words in their order."""
        _, encoder = ENCODERS[variant]
        return self._trained(variant, {}, select=lambda recipe: encoder_recipe(recipe, encoder))

    def text_only(self) -> Path:
        """The folder whose NNRank reads titles and abstracts alone: the model's own, or :data:`TEXT_ONLY`."""
        if not self._nnrank_recipe().model.metadata:
            return self.model
        return self._trained(TEXT_ONLY, dict.fromkeys(METADATA, False))

    def with_metadata(self) -> Path | None:
        """The folder whose NNRank reads metadata too: the model's own, or :data:`WITH_METADATA`.

        None when the corpus has no metadata.
        """
        if self._nnrank_recipe().model.metadata:
            return self.model
        present = {name: self._has(name) for name in METADATA}
        return self._trained(WITH_METADATA, present) if any(present.values()) else None

    def _has(self, field: str) -> bool:
        return any(bool(value) for values in self.corpus.papers.batches(field) for value in values)

    def _nnrank_recipe(self) -> Any:
        from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe

        meta = read_manifest(self.model / "nnrank", kind="nnrank").meta
        return NNRankRecipe.parse(meta.get("recipe", {}), where=str(self.model / "nnrank"))

    def _nnselect_recipe(self) -> Any:
        from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe

        meta = read_manifest(self.model / "nnselect", kind="nnselect").meta
        return NNSelectRecipe.parse(meta.get("recipe", {}), where=str(self.model / "nnselect"))

    def _trained(
        self,
        name: str,
        changes: dict[str, Any],
        *,
        select: Callable[[Any], Any] | None = None,
        rank: Callable[[Any], Any] | None = None,
    ) -> Path:
        """The folder of a variant; what it lacks is trained by the model's recipes with some changes.

        Args:
            name: of the variant.
            changes: of NNRank's ``model``.
            select: changes NNSelect's recipe; without it the variant has the model's NNSelect.
            rank: changes more of NNRank's recipe.
        """
        folder = self.model / ABLATIONS / name
        before, after = folder / "nnselect", folder / "nnrank"
        if select is None:
            if not before.is_dir():
                folder.mkdir(parents=True, exist_ok=True)
                link_artifact(self.model / "nnselect", folder)
            require_copy(before, self.model / "nnselect")
        else:
            self._make(f"training {name}: NNSelect", select(self._nnselect_recipe()), before, SELECT_SHARE)
        recipe = self._nnrank_recipe()
        recipe = recipe.model_copy(update={"model": recipe.model.model_copy(update=changes)})
        share = 1.0 if select is None else 1 - SELECT_SHARE
        self._make(f"training {name}: NNRank", recipe if rank is None else rank(recipe), after, share)
        return folder

    def _make(self, description: str, recipe: Any, artifact: Path, share: float) -> None:
        """Train a part of a variant in its share of the minutes, unless it is there, of the same recipe."""
        if artifact.is_dir():
            require_same(artifact, recipe)
        else:
            minutes = None if self.minutes is None else share * self.minutes
            self._train(description, within(recipe, minutes), artifact.parent)

    def _train(self, description: str, recipe: Any, folder: Path) -> None:
        """Train a variant in this process, wherever the model was trained, or resume a training that was stopped."""
        from cocite_jobs.training.progress import progress_on_bars
        from cocite_jobs.training.resuming import train_or_resume

        recipe = recipe.model_copy(update={"workers": type(recipe).model_fields["workers"].default})
        with progress_on_bars(self.bars, description) as progress:
            train_or_resume(recipe, self.corpus, folder, progress)


def within(recipe: Any, minutes: float | None) -> Any:
    """The recipe with a limit of time, unless its own is less.

    Args:
        recipe: of NNSelect or NNRank.
        minutes: the most that it may train; None: its own limit.

    Example:
        >>> from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
        >>> recipe = NNRankRecipe.parse({"training": {"minutes": 5}})
        >>> [within(recipe, minutes).training.minutes for minutes in (2, 8, None)]
        [2, 5.0, 5.0]
    """
    if minutes is None:
        return recipe
    limit = min(recipe.training.minutes or math.inf, minutes)
    return recipe.model_copy(update={"training": recipe.training.model_copy(update={"minutes": limit})})


def encoder_recipe(recipe: Any, encoder: str) -> Any:
    """NNSelect's recipe with another encoder of texts.

    Args:
        recipe: of NNSelect.
        encoder: ``cnn`` or ``rnn``, which gets an even dimension, half for each direction.
    """
    dimension = recipe.model.dimension + (recipe.model.dimension % 2 if encoder == "rnn" else 0)
    model = recipe.model.model_copy(update={"encoder": encoder, "dimension": dimension})
    training = recipe.training.model_copy(update={"tokens": min(recipe.training.tokens, ENCODER_TOKENS)})
    return recipe.model_copy(update={"model": model, "training": training})


def without_neighbours(recipe: Any) -> Any:
    """The recipe with its neighbour negatives drawn at random: their number stays (Citeomatic, section 5).

    Args:
        recipe: of NNSelect or NNRank.
    """
    old = recipe.negatives
    negatives = old.model_copy(update={"random": old.random + old.neighbour, "neighbour": 0})
    update: dict[str, Any] = {"negatives": negatives}
    if hasattr(recipe.objective, "extra"):
        random, neighbour, cited = recipe.objective.extra
        update["objective"] = recipe.objective.model_copy(update={"extra": (random + neighbour, 0, cited)})
    return recipe.model_copy(update=update)
