"""Citeomatic's Tables 2, 3 and 4 for any corpus; variants of a model that a table needs are trained when missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import experiment, tasks
from cocite.evaluation.baselines import Bm25Baseline
from cocite.evaluation.citeomatic import NEIGHBOURS, CiteomaticRanker
from cocite.evaluation.experiment import Outcome, Rank
from cocite.evaluation.metrics import means
from cocite.evaluation.report import Report, Table
from cocite.evaluation.tasks import Task
from cocite.manifests import read_manifest
from cocite.pipeline import components as members
from cocite.retrieval.index.index import Index

TABLES = ("2", "3", "4")
ABLATIONS = "ablations"
"""Folder of a model folder that holds its variants, each a model folder of its own."""
METADATA = ("authors", "venue", "keyphrases")
WITHOUT: dict[str, tuple[str, dict[str, Any]]] = {
    "without-intersection": ("without intersection", {"intersection": False}),
    "without-neighbour-negatives": ("without neighbour negatives", {}),
    "without-numerical": ("without numerical", {"nnselect": False, "in_citations": False}),
}
"""Variant of Table 3 -> (its row, what changes in NNRank's settings)."""

Bar = Callable[[str, int | None], Any]


def citeomatic_tables(
    corpus: Corpus,
    model: Path,
    *,
    only: Sequence[str] = TABLES,
    split: str = "test",
    sample: int | None = None,
    seed: int = 0,
    k: int = 100,
    bar: Bar | None = None,
) -> Report:
    """Measure a model folder as the paper measures its model, on the global task.

    Args:
        corpus: papers and links.
        model: model folder with ``nnselect`` and ``nnrank``; variants are kept in its ``ablations/``.
        only: some of ``TABLES``.
        split: whose papers ask.
        sample: so many of them.
        seed: draws the sample.
        k: depth of the rankings.
        bar: makes a progress bar from a description and a total.
    """
    for name in only:
        if name not in TABLES:
            raise InputError(f"there is no table {name!r} here", where="--only", hint="2, 3 or 4")
    missing = {"nnselect", "nnrank"} - set(members.check(model))
    if missing:
        raise InputError(
            f"the model folder lacks {', '.join(sorted(missing))}", where=str(model), hint="train it"
        )
    return _Tables(
        corpus, model, split, sample, seed, k, bar or (lambda *_: nullcontext(lambda _=1: None))
    ).report(only)


class _Tables:
    """One index and one set of queries for all tables."""

    def __init__(
        self, corpus: Corpus, model: Path, split: str, sample: int | None, seed: int, k: int, bar: Bar
    ) -> None:
        self.corpus, self.model, self.split, self.k, self.bar = corpus, model, split, k, bar
        self.task: Task = tasks.global_(corpus, split, sample=sample, seed=seed)
        self.facts = {
            "corpus": str(corpus.path),
            "split": split,
            "queries": len(self.task),
            "model": str(model),
        }
        with bar("indexing", None) as advance:
            history = tasks.history_before(corpus, split)
            needed = members.ENCODERS if "fusion" in members.kept(model) else ["nnselect"]
            encoders = members.load_encoders(model, among=tuple(needed))
            self.index = Index.build(corpus, history, encoders=encoders, advance=advance)
        self._outcomes: dict[str, Outcome] = {}

    def report(self, only: Sequence[str]) -> Report:
        makers = {"2": self.table2, "3": self.table3, "4": self.table4}
        return Report("Citeomatic's tables", dict(self.facts), [makers[name]() for name in only])

    def table2(self) -> Table:
        """BM25, the parts of the system one by one, and what the learned fusion adds."""
        textual, metadata = self._with_metadata(False), self._with_metadata(True)
        systems: dict[str, Callable[[], Rank]] = {
            "BM25": lambda: Bm25Baseline(self.index).search,
            "NNSelect": lambda: self._citeomatic(self.index, self.model, reranked=False),
            "+ NNRank": lambda: self._citeomatic(self.index, textual),
        }
        if metadata is not None:
            systems["+ metadata"] = lambda: self._citeomatic(self.index, metadata)
        if "global" in members.ordered_kinds(self.model, "fusion"):
            systems["+ learned fusion"] = self._full
        rows = [[name, *self._measure(name, make()).values()] for name, make in systems.items()]
        return Table("Table 2", ["method", "F1@20", "MRR"], rows)

    def table3(self) -> Table:
        """The full model against variants that lack something."""
        full = self._measure("full model", self._citeomatic(self.index, self.model))
        rows: list[list[Any]] = [["full model", full["F1@20"], "", full["MRR"], ""]]
        for variant, (row, changes) in WITHOUT.items():
            folder = self._variant(variant, changes, neighbours=variant != "without-neighbour-negatives")
            values = self._measure(row, self._citeomatic(self._index_of(folder), folder))
            drops = {name: full[name] - value for name, value in values.items()}
            rows.append([row, values["F1@20"], drops["F1@20"], values["MRR"], drops["MRR"]])
        note = (
            "Lists of candidates, where NNRank is trained on them, are NNSelect's neighbours in every row; "
            "without neighbour negatives, NNSelect and NNRank draw as many random ones instead."
        )
        return Table("Table 3", ["model", "F1@20", "less", "MRR", "less "], rows, note)

    def table4(self) -> Table:
        """How many neighbours bring in what they cite."""
        rows = []
        for neighbours in NEIGHBOURS:
            rank = self._citeomatic(self.index, self.model, neighbours=neighbours)
            outcome = self._run(f"K = {neighbours}", rank)
            values = means(outcome.hits, ("R@20", "P@20"))
            rows.append([neighbours, values["R@20"], values["P@20"], outcome.milliseconds])
        note = "Neighbours and what they cite, ordered by NNRank; the time is a query's share of its batch."
        return Table("Table 4", ["neighbours", "R@20", "P@20", "ms per query"], rows, note)

    # -- systems ---------------------------------------------------------------------------------------------

    def _citeomatic(
        self, index: Index, folder: Path, *, reranked: bool = True, neighbours: int = 100
    ) -> Rank:
        encoder = members.load_encoder(folder, "nnselect")
        if encoder is None:
            raise InputError("holds no nnselect", where=str(folder))
        reranker = members.load_nnrank(folder, index, always=True) if reranked else None
        return CiteomaticRanker(index, encoder, reranker, neighbours=neighbours).rank

    def _full(self) -> Rank:
        from cocite.pipeline.recommender import Recommender

        return Recommender.over(self.model, self.index, cross_encoder=False).rank

    def _index_of(self, folder: Path) -> Index:
        """The index with a variant's own vectors, where its NNSelect is another."""
        encoder = members.load_encoder(folder, "nnselect")
        if encoder is None or encoder.id == self.index.encoder_ids["nnselect"]:
            return self.index
        return self.index.with_vectors(encoder)

    def _run(self, name: str, rank: Rank) -> Outcome:
        with self.bar(f"ranking: {name}", len(self.task)) as advance:
            return experiment.run(self.task, rank, k=self.k, advance=advance)

    def _measure(self, name: str, rank: Rank) -> dict[str, float]:
        return means(self._run(name, rank).hits, ("F1@20", "MRR"))

    # -- variants --------------------------------------------------------------------------------------------

    def _with_metadata(self, wanted: bool) -> Any:
        """The model folder whose NNRank reads metadata, or does not; None when the corpus has none to read."""
        trained = self._nnrank_recipe().model
        if bool(trained.metadata) == wanted:
            return self.model
        if not wanted:
            return self._variant("text", dict.fromkeys(METADATA, False))
        present = {name: self._has(name) for name in METADATA}
        return self._variant("metadata", present) if any(present.values()) else None

    def _has(self, field: str) -> bool:
        return any(bool(value) for values in self.corpus.papers.batches(field) for value in values)

    def _nnrank_recipe(self) -> Any:
        from cocite.systems.citeomatic.nnrank_task import NNRankRecipe

        meta = read_manifest(self.model / "nnrank", kind="nnrank").meta
        return NNRankRecipe.parse(meta.get("recipe", {}), where=str(self.model / "nnrank"))

    def _nnselect_recipe(self) -> Any:
        from cocite.systems.citeomatic.nnselect_task import NNSelectRecipe

        meta = read_manifest(self.model / "nnselect", kind="nnselect").meta
        return NNSelectRecipe.parse(meta.get("recipe", {}), where=str(self.model / "nnselect"))

    def _variant(self, name: str, changes: dict[str, Any], *, neighbours: bool = True) -> Path:
        """The folder of a variant, trained with the recipe of the model but for some settings, when missing."""
        from cocite_jobs.training.citeomatic import train_nnrank, train_nnselect

        folder = self.model / ABLATIONS / name
        if not (folder / "nnselect").is_dir():
            if neighbours:
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copytree(self.model / "nnselect", folder / "nnselect")
            else:
                recipe = _no_neighbours(self._nnselect_recipe())
                self._train(f"training {name}: NNSelect", train_nnselect, recipe, folder)
        if not (folder / "nnrank").is_dir():
            recipe = self._nnrank_recipe()
            recipe = recipe.model_copy(update={"model": recipe.model.model_copy(update=changes)})
            recipe = recipe if neighbours else _no_neighbours(recipe)
            self._train(f"training {name}: NNRank", train_nnrank, recipe, folder)
        return folder

    def _train(self, description: str, trainer: Callable[..., Any], recipe: Any, folder: Path) -> None:
        from cocite_jobs.training.progress import ProgressFunctions

        with self.bar(description, None) as advance:
            trainer(recipe, self.corpus, folder, ProgressFunctions(advance=advance))


def _no_neighbours(recipe: Any) -> Any:
    """The recipe with its neighbour negatives drawn at random: their number stays (Citeomatic, section 5)."""
    old = recipe.negatives
    negatives = old.model_copy(update={"random": old.random + old.neighbour, "neighbour": 0})
    update: dict[str, Any] = {"negatives": negatives}
    if hasattr(recipe.objective, "extra"):
        random, neighbour, cited = recipe.objective.extra
        update["objective"] = recipe.objective.model_copy(update={"extra": (random + neighbour, 0, cited)})
    return recipe.model_copy(update=update)
