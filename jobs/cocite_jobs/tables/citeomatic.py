"""Citeomatic's tables and figures for any corpus; variants of a model that one needs are trained when missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.evaluation import experiment, tasks
from cocite.evaluation.baselines import Bm25Baseline
from cocite.evaluation.citeomatic import NEIGHBOURS, CiteomaticRanker, trained_neighbours
from cocite.evaluation.experiment import EvalResult, Rank
from cocite.evaluation.metrics import means
from cocite.evaluation.report import SELF_CITATION_DEPTHS, VENUES, Report, Table
from cocite.evaluation.slices import Slice, by_label
from cocite.evaluation.tasks import EvalTask
from cocite.pipeline import components
from cocite.progress_bars import ProgressBars, no_bars
from cocite.retrieval.index.index import Index
from cocite.systems.meta_paths.cluscite import ClusCite, ClusCiteRanker, ClusCiteSettings, fit_cluscite
from cocite.systems.meta_paths.l2_lr import L2Lr, L2LrRanker, L2LrSettings, fit_l2_lr
from cocite.training.periods import Periods, PeriodSettings
from cocite_jobs.tables.citeomatic_variants import ENCODERS, WITHOUT, CiteomaticVariants

TABLES = ("2", "3", "4", "10", "figure3", "figure4", "encoders")
"""Tables by their numbers, figures, whose numbers are tables too, and section 5's comparison of encoders."""
PRINTED = TABLES[:3]
"""Those that are made by default."""
TABLE_10 = ("P@10", "P@20", "R@20", "F1@20", "MRR")


def citeomatic_tables(
    corpus: Corpus,
    model: Path,
    *,
    only: Sequence[str] = PRINTED,
    split: str = "test",
    sample: int | None = None,
    seed: int = 0,
    min_citations: int | None = None,
    k: int = 100,
    bars: ProgressBars = no_bars,
) -> Report:
    """Measure a model folder as the paper measures its model, on the global task.

    Args:
        corpus: papers and links.
        model: model folder with ``nnselect`` and ``nnrank``; variants are kept in its ``ablations/``.
        only: some of ``TABLES``.
        split: the queries are its papers.
        sample: number of queries; all by default.
        seed: of the query sample.
        min_citations: the queries cite at least so many papers of the corpus; None: one.
        k: depth of the rankings.
        bars: of each step.

    Raises:
        InputError: there is no such table, or the model folder lacks a part.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> citeomatic_tables(starter_corpus(), Path("model"), only=["5"])
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: --only: there is no table '5' here (2, 3, 4, 10, figure3, figure4, encoders)
    """
    for name in only:
        if name not in TABLES:
            raise InputError(f"there is no table {name!r} here", where="--only", hint=", ".join(TABLES))
    missing = {"nnselect", "nnrank"} - set(components.list_components(model))
    if missing:
        raise InputError(
            f"the model folder lacks {', '.join(sorted(missing))}", where=str(model), hint="train it"
        )
    task = tasks.global_(corpus, split, sample=sample, seed=seed, min_citations=min_citations)
    tables = _Tables(corpus, model, split, task, k, bars)
    if min_citations is not None:
        tables.facts["min_citations"] = min_citations
    return tables.report(only)


class _Tables:
    """The tables over one index and one set of queries."""

    def __init__(
        self,
        corpus: Corpus,
        model: Path,
        split: str,
        task: EvalTask,
        k: int,
        bars: ProgressBars,
    ) -> None:
        self.corpus, self.model, self.k, self.bars = corpus, model, k, bars
        self.variants = CiteomaticVariants(corpus, model, bars)
        self.task = task
        self.facts: dict[str, Any] = {
            "corpus": str(corpus.path),
            "split": split,
            "queries": len(self.task),
            "model": str(model),
        }
        with bars("indexing", None) as advance:
            history = tasks.history_before(corpus, split)
            needed = components.ENCODERS if "fusion" in components.active_components(model) else ["nnselect"]
            encoders = components.load_encoders(model, among=tuple(needed))
            self.index = Index.build(corpus, history, encoders=encoders, advance=advance)

    def report(self, only: Sequence[str]) -> Report:
        tables = {"2": self.table2, "3": self.table3, "4": self.table4, "10": self.table10}
        tables |= {"figure3": self.figure3, "figure4": self.figure4, "encoders": self.encoders}
        return Report("Citeomatic's tables", dict(self.facts), [tables[name]() for name in only])

    def table2(self) -> Table:
        """Table 2: BM25, L2-LR, ClusCite, the parts of the system one by one, and the learned fusion after them."""
        systems = self._systems()
        if "global" in components.ordered_kinds(self.model, "fusion"):
            systems["+ learned fusion"] = self._pipeline
        rows = [[name, *self._measure(name, open_()).values()] for name, open_ in systems.items()]
        return Table("Table 2", ["method", "F1@20", "MRR"], rows)

    def table3(self) -> Table:
        """Table 3: the full model against variants that lack a feature or the mined negatives."""
        full = self._measure("full model", self._citeomatic(self.index, self.model))
        rows: list[list[Any]] = [["full model", full["F1@20"], "", full["MRR"], ""]]
        for variant, (row, _) in WITHOUT.items():
            folder = self.variants.without(variant)
            values = self._measure(row, self._citeomatic(self._index_of(folder), folder))
            drops = {name: full[name] - value for name, value in values.items()}
            rows.append([row, values["F1@20"], drops["F1@20"], values["MRR"], drops["MRR"]])
        note = (
            "Lists of candidates, where NNRank is trained on them, are NNSelect's neighbours in every row; "
            "without neighbour negatives, NNSelect and NNRank draw as many random ones instead."
        )
        return Table("Table 3", ["model", "F1@20", "less", "MRR", "less "], rows, note)

    def table4(self) -> Table:
        """Table 4: recall and precision by the number of neighbours whose citations become candidates.

        The paper's are those of the NNSelect step; beside them stand those of the same candidates after NNRank.
        """
        rows: list[list[Any]] = []
        for neighbours in NEIGHBOURS:
            row: list[Any] = [neighbours]
            for reranked in (False, True):
                rank = self._citeomatic(self.index, self.model, reranked=reranked, neighbours=neighbours)
                result = self._run(f"K = {neighbours}{', NNRank' * reranked}", rank)
                values = means(result.hits, ("R@20", "P@20"))
                row += [values["R@20"], values["P@20"], result.milliseconds]
            rows.append(row)
        measures = ("R@20", "P@20", "ms per query")
        columns = ["neighbours", *measures, *(f"{name}, NNRank" for name in measures)]
        note = "Neighbours and what they cite, by cosine and by NNRank; the time is a query's share of its batch."
        return Table("Table 4", columns, rows, note)

    def table10(self) -> Table:
        """Table 10: the systems of Table 2 by more metrics."""
        rows = [
            [name, *means(self._run(name, open_()).hits, TABLE_10).values()]
            for name, open_ in self._systems().items()
        ]
        return Table("Table 10", ["method", *TABLE_10], rows)

    def figure3(self) -> Table:
        """Figure 3: F1@20 by venue, those of most papers of the corpus, without metadata and with it.

        The paper does not say which of the two it shows.
        """
        venues = [query.venue for query in self.task.queries]
        slices = {
            name: {part.name: part for part in by_label(result.hits, venues, ("F1@20",))}
            for name, result in self._by_metadata.items()
        }
        asked = set(venues)
        rows = [
            [venue, papers, *_of_venue([parts[venue] for parts in slices.values()])]
            for venue, papers in _most_papers(self.corpus, VENUES).items()
            if venue in asked
        ]
        columns = ["venue", "papers", "queries", *(f"F1@20, {name}" for name in slices)]
        note = f"The {VENUES} venues of most papers of the corpus, without those that no query is of."
        return Table("Figure 3", columns, rows, note)

    def figure4(self) -> Table:
        """Figure 4: ranks of papers by one of the query's authors, without metadata and with it."""
        bias = {name: result.self_citation for name, result in self._by_metadata.items()}
        columns = [f"{kind} rank, {name}" for name in bias for kind in ("mean", "max")]
        rows = [
            [n, *(float(r[n - 1]) for found in bias.values() for r in (found.mean_rank, found.max_rank))]
            for n in SELF_CITATION_DEPTHS
            if n <= self.k
        ]
        note = "Among the first predictions; averaged over the queries that have such a paper there."
        return Table("Figure 4", ["predictions", *columns], rows, note)

    def encoders(self) -> Table:
        """Section 5: a convolution and a recurrent network in place of the sum of word vectors, each in both stages."""
        folders = {"sum of word vectors (Eq. 1)": self.model}
        folders |= {row: self.variants.with_encoder(name) for name, (row, _) in ENCODERS.items()}
        rows: list[list[Any]] = []
        for row, folder in folders.items():
            index = self._index_of(folder)
            step = self._run(f"{row}: NNSelect", self._citeomatic(index, folder, reranked=False))
            values = means(step.hits, ("F1@20", "MRR"))
            reranked = self._measure(f"{row}: NNRank", self._citeomatic(index, folder))
            rows.append([row, *values.values(), step.milliseconds, *reranked.values()])
        columns = ["encoder", "F1@20", "MRR", "ms per query", "F1@20, NNRank", "MRR, NNRank"]
        note = (
            "Of the NNSelect step, with the time of a query in its batch, and after an NNRank that was trained on its "
            "candidates; the encoders are trained by one recipe, and so at most as long as each other."
        )
        return Table("Encoders", columns, rows, note)

    # -- systems ---------------------------------------------------------------------------------------------

    def _systems(self) -> dict[str, Callable[[], Rank]]:
        """The rows that Tables 2 and 10 share; without metadata in the corpus, the last one is missing."""
        text_only, metadata = self.variants.text_only(), self.variants.with_metadata()
        systems: dict[str, Callable[[], Rank]] = {
            "BM25": lambda: Bm25Baseline(self.index).search,
            "L2-LR": lambda: L2LrRanker(self.index, self._l2_lr).search,
            "ClusCite": lambda: ClusCiteRanker(self.index, self._cluscite).search,
            "NNSelect": lambda: self._citeomatic(self.index, self.model, reranked=False),
            "+ NNRank": lambda: self._citeomatic(self.index, text_only),
        }
        if metadata is not None:
            systems["+ metadata"] = lambda: self._citeomatic(self.index, metadata)
        return systems

    @cached_property
    def _by_metadata(self) -> dict[str, EvalResult]:
        """NNRank without metadata, and with it where the corpus has some."""
        folders = {"NNRank": self.variants.text_only(), "NNRank + metadata": self.variants.with_metadata()}
        return {
            name: self._run(name, self._citeomatic(self.index, folder))
            for name, folder in folders.items()
            if folder is not None
        }

    @cached_property
    def _l2_lr(self) -> L2Lr:
        """L2-LR's weights, of the links of the training period."""
        with self.bars("fitting L2-LR", None):
            return fit_l2_lr(self._training, L2LrSettings(), self.variants.seed)

    @cached_property
    def _cluscite(self) -> ClusCite:
        """ClusCite, of the links of the training period."""
        with self.bars("fitting ClusCite", None):
            return fit_cluscite(self._training, ClusCiteSettings(), self.variants.seed)

    @cached_property
    def _training(self) -> History:
        return Periods.of(self.corpus, PeriodSettings()).history

    def _citeomatic(
        self, index: Index, folder: Path, *, reranked: bool = True, neighbours: int | None = None
    ) -> Rank:
        """Citeomatic's two stages, or NNSelect alone; K is by default that of the recipe of the folder's NNRank."""
        encoder = components.load_encoder(folder, "nnselect")
        if encoder is None:
            raise InputError("holds no nnselect", where=str(folder))
        reranker = components.load_nnrank(folder, index, always=True) if reranked else None
        k = trained_neighbours(folder) if neighbours is None else neighbours
        return CiteomaticRanker(index, encoder, reranker, neighbours=k).rank

    def _pipeline(self) -> Rank:
        from cocite.pipeline.recommender import Recommender

        return Recommender.over(self.model, self.index, cross_encoder=False).rank

    def _index_of(self, folder: Path) -> Index:
        """The index with the vectors of a variant's own NNSelect, where it has one."""
        encoder = components.load_encoder(folder, "nnselect")
        if encoder is None or encoder.id == self.index.encoder_ids["nnselect"]:
            return self.index
        return self.index.with_vectors(encoder)

    def _run(self, name: str, rank: Rank) -> EvalResult:
        with self.bars(f"ranking: {name}", len(self.task)) as advance:
            return experiment.run(self.task, rank, k=self.k, advance=advance)

    def _measure(self, name: str, rank: Rank) -> dict[str, float]:
        return means(self._run(name, rank).hits, ("F1@20", "MRR"))


def _of_venue(slices: Sequence[Slice]) -> list[Any]:
    """The cells of a venue: its number of queries, and what each system has of them."""
    return [slices[0].queries, *(part.means["F1@20"] for part in slices)]


def _most_papers(corpus: Corpus, most: int) -> dict[str, int]:
    """The venues of most papers, largest first, with their numbers of papers; those of equal numbers by name."""
    column = corpus.papers.table.column("venue")
    counted = pc.value_counts(column)
    names, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    known = [(name, count) for name, count in zip(names, counts, strict=True) if name]
    return dict(sorted(known, key=lambda pair: (-pair[1], pair[0]))[:most])
