"""Golden queries: a few queries of a corpus, and what a model answers to them. They are kept with the model.

``MODEL/golden`` is an artifact of the kind ``golden-queries`` with the file ``queries.json``. It is no component: the
pipeline does not read it, and the version of the model folder does not depend on it. An endpoint asks a release these
queries before it serves it: other answers are those of another model, or of a broken one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import publish
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.manifests import MANIFEST, read_json
from cocite.pipeline import components
from cocite.pipeline.golden_answers import BEST, GoldenAnswer, check_sound
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.search_index import SearchIndex
from cocite.verification import open_verified

KIND = "golden-queries"
FOLDER = "golden"
"""Of a model folder."""
FILE = "queries.json"
COUNT = 8
OPTIONS = Options(top_k=20, depth=100, rerank=30, evidence=False, candidates="older")
"""With which golden queries are asked, wherever they are."""
GAP = "[CIT]"
_SPREAD = 8
"""Papers that are looked at for each one that is taken: some have no abstract."""


@dataclass(frozen=True)
class GoldenQuery:
    """A gap in a text, or a title and abstract, of a paper of the corpus.

    Attributes:
        id: names it in messages.
        paper: id of the paper whose text it is: where an index knows it, its own links and contexts do not vote.
        title: of that paper.
        abstract: of that paper.
        context: the text around the gap; empty: the whole paper asks.
        year: of that paper, 0: not known.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> golden = GoldenQuery("g1", "devlin2019bert", "BERT", "We introduce …", year=2019)
        >>> query = golden.query(corpus)
        >>> corpus.ids([query.paper]), query.year, query.is_local
        (['devlin2019bert'], 2019, False)
    """

    id: str
    paper: str
    title: str
    abstract: str = ""
    context: str = ""
    year: int = 0

    def query(self, corpus: Corpus) -> Query:
        """The same for a pipeline over an index of a corpus."""
        row = int(corpus.find([self.paper])[0])
        return Query(
            self.id, self.context, self.title, self.abstract, self.year or None, paper=max(row, NO_ROW)
        )


@dataclass(frozen=True)
class GoldenQueries:
    """Golden queries, and the answers to them.

    Attributes:
        queries: in order.
        answers: of the model, by the id of the query: the best papers.
        model: version of the model that gave the answers.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> golden = GoldenQueries.make(Recommender.over(None, index), count=2)
        >>> [query.context != "" for query in golden.queries]
        [True, False]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     golden.save(Path(folder))
        ...     kept = GoldenQueries.open(Path(folder))
        >>> kept.queries == golden.queries, len(kept.answers[kept.queries[-1].id].ids)
        (True, 10)
    """

    queries: tuple[GoldenQuery, ...]
    answers: Mapping[str, GoldenAnswer]
    model: str = ""

    @classmethod
    def make(cls, recommender: Recommender, count: int = COUNT) -> GoldenQueries:
        """Choose queries from the corpus of an index, and ask a model.

        Raises:
            InputError: the corpus has no text to ask with.
            GoldenError: the answers are not those of a sound model.
        """
        index = recommender.index
        queries = choose_queries(index.corpus, index.alive, count)
        answers = {query.id: _answer(recommender, query, index) for query in queries}
        check_sound(answers)
        answers = {name: answer.best(BEST) for name, answer in answers.items()}
        return cls(tuple(queries), answers, recommender.model_version)

    def save(self, model: Path) -> None:
        """Write the artifact ``golden`` of a model folder; it replaces an earlier one."""
        meta = {
            "model": self.model,
            "queries": len(self.queries),
            "seconds": round(float(np.median([answer.seconds for answer in self.answers.values()])), 4),
        }
        content = [_to_json(query, self.answers[query.id]) for query in self.queries]
        with publish(model / FOLDER, kind=KIND, meta=meta, replace=True) as folder:
            (folder / FILE).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def open(cls, model: Path) -> GoldenQueries | None:
        """Those of a model folder, verified; None: it has none.

        Raises:
            IntegrityError: they are damaged.
        """
        if not (model / FOLDER / MANIFEST).is_file():
            return None
        manifest = open_verified(model / FOLDER, kind=KIND)
        path = model / FOLDER / FILE
        try:
            entries = [_from_json(entry) for entry in read_json(path)]
        except (KeyError, TypeError, ValueError) as error:
            raise IntegrityError(
                f"is not a list of golden queries: {error!r}", where=str(path), hint="cocite model golden"
            ) from error
        answers = {query.id: answer for query, answer in entries}
        return cls(tuple(query for query, _ in entries), answers, str(manifest.meta.get("model", "")))


def are_missing(model: Path) -> bool:
    """Whether a model folder keeps no golden queries, or those of an earlier state of the model.

    Raises:
        CociteError: it holds no model, or they are damaged.
    """
    kept = GoldenQueries.open(model)
    return kept is None or not kept.queries or kept.model != components.version(model)


def choose_queries(corpus: Corpus, alive: NDArray[np.bool_], count: int) -> list[GoldenQuery]:
    """Choose queries from a corpus: half of them gaps, half of them whole papers, spread evenly over it.

    Args:
        corpus: whose texts they are.
        alive: (N,) whether a paper was not removed.
        count: how many, where the corpus has that many.

    Raises:
        InputError: no paper is left.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> queries = choose_queries(corpus, np.ones(len(corpus), bool), 4)
        >>> [query.id for query in queries]
        ['golden-1', 'golden-2', 'golden-3', 'golden-4']
        >>> "TARGETCIT" in queries[0].context, queries[1].context
        (True, '')
    """
    rows = [row for row in _spread(len(corpus), _SPREAD * count) if alive[row]]
    # One with an abstract and links says more: its neighbours and contexts are part of what ranks.
    sizes = np.diff(corpus.cites.indptr)
    rows.sort(key=lambda row: (not corpus.papers.take("abstract", [row])[0], not sizes[row]))
    wholes = sorted(rows[: count // 2])
    gaps = _contexts(corpus, alive, count - len(wholes)) or _abstracts(corpus, rows[: count - len(wholes)])
    chosen = _alternate(gaps, [(row, "") for row in wholes])
    if not chosen:
        raise InputError("has no text that golden queries could be made of", where=str(corpus.path))
    records = corpus.papers_at([row for row, _ in chosen])
    return [
        GoldenQuery(f"golden-{number}", paper.id, paper.title, paper.abstract, context, int(paper.year or 0))
        for number, (paper, (_, context)) in enumerate(zip(records, chosen, strict=True), 1)
    ]


def _contexts(corpus: Corpus, alive: NDArray[np.bool_], count: int) -> list[tuple[int, str]]:
    """Citing row and text of some contexts of the corpus."""
    some = [
        row for row in _spread(len(corpus.contexts), _SPREAD * count) if alive[corpus.context_citing[row]]
    ]
    some = [some[i] for i in _spread(len(some), count)]
    texts = corpus.contexts.take("text", some) if some else []
    return [(int(corpus.context_citing[row]), str(text)) for row, text in zip(some, texts, strict=True)]


def _abstracts(corpus: Corpus, rows: Sequence[int]) -> list[tuple[int, str]]:
    """Rows and beginnings of abstracts with a gap behind, for a corpus without contexts."""
    texts = corpus.papers.take("abstract", rows) if rows else []
    return [(row, f"{text.partition('. ')[0]} {GAP}.") for row, text in zip(rows, texts, strict=True) if text]


def _alternate(one: list[tuple[int, str]], other: list[tuple[int, str]]) -> list[tuple[int, str]]:
    both = [item for pair in zip(one, other, strict=False) for item in pair]
    shorter = min(len(one), len(other))
    return [*both, *one[shorter:], *other[shorter:]]


def _spread(size: int, count: int) -> list[int]:
    """Up to ``count`` of the numbers below ``size``, at equal distances."""
    return np.unique(np.linspace(0, size - 1, min(count, size)).astype(np.int64)).tolist() if size else []


def _answer(recommender: Recommender, query: GoldenQuery, index: SearchIndex) -> GoldenAnswer:
    begin = time.perf_counter()
    papers = recommender.recommend(query.query(index.corpus), OPTIONS)
    return GoldenAnswer.of(papers, time.perf_counter() - begin)


def make_golden_queries(model: Path, index: Path, count: int = COUNT) -> GoldenQueries:
    """Make the golden queries of a model folder with the current version of an index, and keep them in it.

    Raises:
        CociteError: see :meth:`GoldenQueries.make`; or model and index do not fit.
    """
    components.list_components(model)
    golden = GoldenQueries.make(Recommender.load(model, index), count)
    golden.save(model)
    return golden


def _to_json(query: GoldenQuery, answer: GoldenAnswer) -> dict[str, Any]:
    """JSON knows no NaN: a score that is missing is null."""
    stages = {
        name: [score if np.isfinite(score) else None for score in scores]
        for name, scores in answer.stages.items()
    }
    asked = {name: value for name, value in vars(query).items() if value}
    return {**asked, "expected": list(answer.ids), "scores": list(answer.scores), "stages": stages}


def _from_json(entry: dict[str, Any]) -> tuple[GoldenQuery, GoldenAnswer]:
    asked = {name: entry[name] for name in GoldenQuery.__dataclass_fields__ if name in entry}
    stages = {
        str(name): tuple(np.nan if score is None else float(score) for score in scores)
        for name, scores in entry["stages"].items()
    }
    ids = tuple(str(id_) for id_ in entry["expected"])
    scores = tuple(float(score) for score in entry["scores"])
    return GoldenQuery(**asked), GoldenAnswer(ids, scores, stages)
