"""``bm25``: k1 and b, the form of the query and the field of the papers, over word counts that are collected once.

A word's weight in a paper is ``idf * f / (f + k1 * (1 - b + b * l / mean length))``
(:mod:`cocite.retrieval.engines.bm25`). For each pooled paper the cache holds the words that it shares with the query,
each with f and with idf times the word's count in the query, and the paper's relative length. A trial is then one
weighted sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cocite.corpus.csr import CSR
from cocite.evaluation.hits import Hits
from cocite.protocols import Query, Ranking
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.bm25_fields import Bm25Settings
from cocite.retrieval.index.snapshot import current_meta
from cocite.retrieval.query_forms import QueryForm, query_texts
from cocite_tuning.studies.bm25_settings import Bm25StudySettings
from cocite_tuning.studies.dev_queries import DevQueries
from cocite_tuning.studies.pools import Pool, pool_papers
from cocite_tuning.studies.score_cache import save_arrays
from cocite_tuning.studies.score_study import ScoreStudy, literal_of
from cocite_tuning.studies.usage import UsageCommands, command_line, retrain_commands

BLOCK = 64
"""Queries scored together."""
EXTREMES = ((0.0, 0.0), (0.5, 0.5), (1.2, 0.75), (0.5, 1.0), (3.0, 0.0), (3.0, 1.0))
"""(k1, b) whose best papers make up the pool: the ends of the ranges, and the usual values."""
GREATEST_K1 = 10.0
USUAL = Bm25Settings()


class Bm25Study(ScoreStudy[Bm25StudySettings]):
    """Tunes ``k1``, ``b``, ``form`` and ``field``; by default 1.2, 0.75, and the first of each list.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> settings = Bm25StudySettings(task="global", queries=30, fields=("text",), forms=("title",), pool=100)
        >>> with tempfile.TemporaryDirectory() as shared:
        ...     study = Bm25Study(settings, starter_corpus().path, Path(shared))
        ...     study.prepare()
        ...     long_papers_first, usual = (study.run(p, print, Path()) for p in ({"b": 0.0}, {}))
        >>> long_papers_first["MRR"] != usual["MRR"]
        True
    """

    @property
    def parameter_types(self) -> Mapping[str, Any]:
        """The four parameters."""
        return {
            "k1": Annotated[float, Field(ge=0, le=GREATEST_K1)],
            "b": Annotated[float, Field(ge=0, le=1)],
            "form": literal_of(tuple(map(str, self.forms))),
            "field": literal_of(self.settings.fields),
        }

    @property
    def forms(self) -> tuple[QueryForm, ...]:
        """The forms of the query that are compared."""
        if self.settings.forms:
            return self.settings.forms
        if self.settings.task == "local":
            return (QueryForm.CONTEXT_TITLE, QueryForm.CONTEXT, QueryForm.CONTEXT_TITLE_ABSTRACT)
        return (QueryForm.TITLE_ABSTRACT, QueryForm.TITLE)

    @property
    def _deepest_cutoff(self) -> int | None:
        return self.settings.pool

    @property
    def _cache_settings(self) -> dict[str, Any]:
        names = {"forms": [str(form) for form in self.forms], "fields": list(self.settings.fields)}
        return {**names, "pool": self.settings.pool}

    def _fill_cache(self, folder: Path) -> DevQueries:
        dev = DevQueries(self.settings, self.corpus)
        for field in self.settings.fields:
            index = dev.index.papers[field]
            extremes = [with_parameters(index, k1, b) for k1, b in EXTREMES]
            for form in self.forms:
                self._cache_words(folder, f"{form}.{field}", dev, index, extremes, form)
        return dev

    def _cache_words(
        self,
        folder: Path,
        name: str,
        dev: DevQueries,
        index: Bm25Index,
        extremes: list[Bm25Index],
        form: QueryForm,
    ) -> None:
        """Cache the words that one form of the queries shares with the papers of their pools."""
        texts = query_texts(dev.task.queries, form, index=index, fields=dev.index.papers)
        rankings = [self._best(dev, extreme, dev.task.queries, texts) for extreme in extremes]
        papers = pool_papers(rankings, dev.task.relevant)
        Pool.save(folder, name, papers)
        cell, times, weight = shared_words(index, texts, papers)
        length = np.asarray(index.lengths, np.float32)[papers.indices] / np.float32(index.mean_length)
        ends = np.searchsorted(cell, np.arange(len(papers.indices) + 1))
        save_arrays(
            folder,
            {
                f"{name}.ends": ends.astype(np.int64),
                f"{name}.times": times,
                f"{name}.weight": weight,
                f"{name}.length": length,
            },
        )

    def _best(self, dev: DevQueries, index: Bm25Index, queries: Any, texts: list[str]) -> Ranking:
        parts = []
        for start, scores in index.blocks(texts):
            block: list[Query] = list(queries[start : start + len(scores)])
            scores[scores <= 0] = -np.inf
            parts.append(Ranking.best(dev.index.forbid(scores, block), self.settings.pool))
        return Ranking(
            np.concatenate([part.rows for part in parts]), np.concatenate([part.scores for part in parts])
        )

    def usage(self, params: Mapping[str, Any], corpus: str, best: Path) -> UsageCommands:  # noqa: ARG002
        """The commands that build an index with these k1 and b, and rank by BM25 alone with this form of the query."""
        form, field = self._choice(params)
        changed = {key: params[key] for key in ("k1", "b") if key in params}
        settings = [word for key, value in changed.items() for word in ("--bm25", f"{field}.{key}={value}")]
        to, bounds = self._index_folder, dict[str, Any]()
        if self.settings.index is not None:
            meta = current_meta(to)
            bounds = {"--known-until": meta["known_until"], "--before-split": meta.get("before_split")}
        history = [word for name, value in bounds.items() if value is not None for word in (name, value)]
        build = command_line(
            "cocite", "index", "build", corpus, "--to", to, *self._model_option, *history, *settings
        )
        rank = command_line(
            *("cocite", "rank", "--index", to, "--pipeline", "bm25", "--form", form),
            *("--queries", "queries.jsonl", "--to", "run.trec"),
        )
        retrain = retrain_commands(self.settings.model, self.used_components, corpus, to) if changed else []
        notes = [
            f"k1 and b were found for the query's {form} against the papers' {field}; the recommender reads all forms "
            "against text and title, and no other field changes."
        ]
        if field != "text":
            notes.append(f"No command ranks by the {field} alone.")
        return UsageCommands((build, *([rank] if field == "text" else []), *retrain), tuple(notes))

    def _choice(self, params: Mapping[str, Any]) -> tuple[str, str]:
        """The form of the query and the field of the papers."""
        return str(params.get("form", self.forms[0])), str(params.get("field", self.settings.fields[0]))

    def _compute_hits(self, params: Mapping[str, Any], queries: slice) -> Hits:
        pool, entries = self._part(".".join(self._choice(params)), queries)
        k1, b = (np.float32(params.get(name, getattr(USUAL, name))) for name in ("k1", "b"))
        saturation = k1 * (1 - b + b * entries["length"])
        times, cell = entries["times"], entries["cell"]
        weights = entries["weight"] * times / (times + saturation[cell])
        scores = np.asarray(np.bincount(cell, weights, minlength=len(saturation)), np.float64)
        return pool.hits(scores, scores > 0)

    @cached_property
    def _parts(self) -> dict[tuple[str, int, int], tuple[Pool, dict[str, NDArray[Any]]]]:
        """Results of :meth:`_part`, for a process runs many trials."""
        return {}

    def _part(self, name: str, queries: slice) -> tuple[Pool, dict[str, NDArray[Any]]]:
        """The pools of some queries, and the words that each cell shares with its query."""
        key = (name, queries.start, queries.stop)
        if key not in self._parts:
            pool = Pool.load(self.folder, name, self.cited, self.settings.pool)
            cells = pool.cells(queries)
            ends = self._cache.array(f"{name}.ends")[cells.start : cells.stop + 1]
            words = slice(int(ends[0]), int(ends[-1]))
            self._parts[key] = (
                pool.part(queries),
                {
                    "cell": np.repeat(np.arange(len(ends) - 1, dtype=np.int32), np.diff(ends)),
                    "times": np.array(self._cache.array(f"{name}.times")[words], np.float32),
                    "weight": np.array(self._cache.array(f"{name}.weight")[words]),
                    "length": np.array(self._cache.array(f"{name}.length")[cells]),
                },
            )
        return self._parts[key]


def with_parameters(index: Bm25Index, k1: float, b: float) -> Bm25Index:
    """The same documents and statistics under another k1 and b, without tokenizing the texts again."""
    return Bm25Index(
        index.tokenizer,
        index.vocabulary,
        index.counts,
        index.idf,
        index.mean_length,
        k1=k1,
        b=b,
    )


def shared_words(
    index: Bm25Index, texts: list[str], papers: CSR
) -> tuple[NDArray[np.int32], NDArray[np.int16], NDArray[np.float32]]:
    """Find the words that each query shares with each paper of its pool.

    Args:
        index: of the papers.
        texts: Q queries.
        papers: Q pools; cell c is entry c of its ``indices``.

    Returns:
        For each shared word, in order of the cells: the cell, the word's count in the paper, and the word's idf times
        its count in the query.
    """
    counts = matrices.counted(*index.tokenizer.lookup(texts, index.vocabulary), columns=len(index.vocabulary))
    parts = []
    for start in range(0, len(texts), BLOCK):
        block = counts[start : start + BLOCK]
        words, position = np.unique(block.indices, return_inverse=True)
        weights = np.zeros((block.shape[0], len(words)), np.float32)
        weights[np.repeat(np.arange(block.shape[0]), np.diff(block.indptr)), position] = block.data
        weights *= index.idf[words].astype(np.float32)
        column = np.full(len(index.vocabulary), -1, np.int64)
        column[words] = np.arange(len(words))
        first, last = papers.indptr[start], papers.indptr[min(start + BLOCK, len(texts))]
        query = np.repeat(np.arange(block.shape[0]), papers.degrees[start : start + BLOCK])
        held = index.counts.rows(papers.indices[first:last])
        known = column[held.indices] >= 0
        owner = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))[known]
        word, times = column[held.indices[known]], held.data[known]
        weight = weights[query[owner], word]
        shared = weight > 0
        times = np.minimum(times[shared], np.iinfo(np.int16).max)
        parts.append(((owner[shared] + first).astype(np.int32), times.astype(np.int16), weight[shared]))
    cell, times, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return cell, times, weight
