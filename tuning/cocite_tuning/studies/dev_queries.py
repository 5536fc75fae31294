"""The dev queries that a study without training is measured on."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import tasks
from cocite.evaluation.tasks import EvalTask
from cocite.manifests import read_manifest
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.protocols import Encoder
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.reuse import whole_index_of
from cocite.systems.learned_fusion.examples import reserved_queries
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite_tuning.studies.score_settings import ScoreSettings

SPLIT = "dev"


class DevQueries:
    """The queries of a study, the trials' before the held-out ones, over an index of the history before dev.

    Manuscripts, not queries, are held out: all contexts of a manuscript are on the same side.

    Args:
        settings: which queries.
        corpus: the corpus store's folder.
        unseen: leave out the manuscripts that the model folder's learned fusion was trained on.

    Attributes:
        task: Q queries with what they cite.
        tuning_count: T, how many of the queries the trials use; the other Q - T are held out.

    Raises:
        InputError: no query is left for the trials, or the learned fusion was trained on all of them.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> settings = ScoreSettings(kind="bm25", task="global", queries=20, held_out=0.5)
        >>> dev = DevQueries(settings, starter_corpus().path)
        >>> len(dev.task), dev.tuning_count
        (20, 10)
    """

    def __init__(self, settings: ScoreSettings, corpus: Path, *, unseen: bool = False) -> None:
        self.settings = settings
        self.corpus = Corpus.open(corpus)
        self.model = settings.model
        task = tasks.build(self.corpus, settings.task, SPLIT)
        papers = task.papers
        allowed = np.flatnonzero(_unseen(settings.model, papers) if unseen else np.ones(len(papers), bool))
        chosen = tasks.draw_sample(allowed, settings.queries, settings.seed)
        # Another seed than the draw above, so that the two draws are independent.
        held_out = reserved_queries(papers[chosen], settings.held_out, settings.seed + 1)
        self.task: EvalTask = task.take(np.concatenate([chosen[~held_out], chosen[held_out]]))
        self.tuning_count = int((~held_out).sum())
        if not self.tuning_count:
            raise InputError(
                "no query is left for the trials", hint="give more queries or a smaller held_out"
            )

    @cached_property
    def encoders(self) -> list[Encoder]:
        """The encoders of the model folder, except those that the settings leave out."""
        names = [name for name in components.ENCODERS if name not in self.settings.without]
        return components.load_encoders(self.model, among=names)

    @cached_property
    def index(self) -> Index:
        """The corpus with the history before dev, and the vectors of the encoders."""
        saved = open_index(self.settings.index) if self.settings.index is not None else None
        return whole_index_of(
            self.corpus, tasks.history_before(self.corpus, SPLIT), self.encoders, saved=saved
        )

    @property
    def first_stage(self) -> FirstStage:
        """The first stage with these encoders, and the model folder's blend unless the settings leave it out."""
        blended = None if "blend" in self.settings.without else self.model
        return FirstStage.over(blended, self.index, self.encoders)


def _unseen(model: Path | None, papers: NDArray[np.int32]) -> NDArray[np.bool_]:
    """(Q,) whether the learned fusion of a model folder was not trained on a query's manuscript."""
    if model is None or "fusion" not in components.active_components(model):
        return np.ones(len(papers), bool)
    recipe = FusionRecipe.parse(
        read_manifest(model / "fusion").meta.get("recipe", {}), where=str(model / "fusion")
    )
    if not recipe.reserve:
        raise InputError(
            "the fusion was trained on all dev queries, so its scores there promise too much",
            where=str(model / "fusion"),
            hint="train it again with reserve=0.3",
        )
    return reserved_queries(papers, recipe.reserve, recipe.seed)
