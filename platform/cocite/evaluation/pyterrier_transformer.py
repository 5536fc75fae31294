"""A recommender as a transformer of PyTerrier, and evaluation tasks as its topics and judgements.

Needs the extra ``pyterrier``, and nothing else of cocite imports it. PyTerrier starts no Java for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from cocite.errors import InputError
from cocite.evaluation.tasks import EvalTask
from cocite.evaluation.trec import strictly_falling
from cocite.pipeline.options import CandidateScope
from cocite.pipeline.passages import MAX_CHARACTERS, query_of
from cocite.pipeline.recommender import Recommender
from cocite.protocols import NO_ROW, Query, Retriever

TEXTS = ("context", "title", "abstract")
"""Columns of topics with the texts of a query; where a topic has one of them, its ``query`` is not read."""
RESULTS = ("docno", "score", "rank")
MOST = 100_000
"""Papers of a query at most."""


class CociteTransformer(pt.Transformer):
    """Ranks papers for topics: a data frame of ``qid`` and ``query`` becomes one of ``docno``, ``score``, ``rank`` too.

    A ``query`` with ``[CIT]`` in it is a gap. Of another one the first line is the title of a manuscript, and the
    further lines its abstract. Further columns of the topics are kept in the result, and these are read: ``context``,
    ``title`` and ``abstract`` in place of ``query``; the manuscript's ``year``, ``venue``, and lists of its ``authors``
    and ``keyphrases``; ``paper``, its id where it is in the corpus: it is then not ranked; and ``sentence``, the place
    of the gap among its body sentences.

    Ranks begin with 0, as in PyTerrier. Scores of a topic fall strictly, so that measures see the order of the ranks.
    One transformer ranks one frame at a time.

    Args:
        recommender: makes the queries, and ranks the papers.
        k: papers of each topic.
        candidates: ``all``, or ``older``: of a topic with a year, papers of that year or earlier, and of unknown year.
        batch: topics ranked at a time; bounds the memory.
        retriever: ranks in place of the recommender, such as one of its parts.

    Raises:
        InputError: a topic is empty or too long, a year is none, or the corpus does not hold its paper.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> recommender = Recommender.over(None, Index.build(starter_corpus(), History.all(starter_corpus())))
        >>> transformer = CociteTransformer(recommender, k=2)
        >>> result = transformer.search("Translations are compared with references by BLEU [CIT].")
        >>> result.columns.tolist(), result["rank"].tolist()
        (['qid', 'query', 'docno', 'score', 'rank'], [0, 1])
        >>> starter_corpus().paper(starter_corpus().row(result["docno"][0])).title
        'BLEU: a Method for Automatic Evaluation of Machine Translation'
    """

    def __init__(
        self,
        recommender: Recommender,
        *,
        k: int = 1000,
        candidates: CandidateScope = "all",
        batch: int = 64,
        retriever: Retriever | None = None,
    ) -> None:
        super().__init__()
        for name, value, most in (("k", k, MOST), ("batch", batch, 4096)):
            if not 1 <= value <= most:
                raise InputError(f"{name} = {value} must be from 1 to {most:,}")
        self.recommender, self.k, self.candidates, self.batch = recommender, k, candidates, batch
        self.retriever: Retriever = retriever if retriever is not None else recommender
        self._lock = threading.Lock()

    @classmethod
    def load(cls, index: str | Path, model: str | Path | None = None, **options: Any) -> CociteTransformer:
        """A transformer over an index and a model folder, as :meth:`Recommender.load` opens them.

        Args:
            index: the index folder.
            model: the model folder; None: nothing that was learned is used.
            options: of the transformer.
        """
        return cls(Recommender.load(model, index), **options)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The topics, a row for each paper, best first.

        Args:
            inp: topics.

        Raises:
            InputValidationError: of PyTerrier: a column is missing, or the frame has results already.
        """
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        blocks = [self._ranked(block) for block in _blocks(inp, self.batch)]
        return pd.concat(blocks or [self._ranked(inp)], ignore_index=True)

    def _ranked(self, topics: pd.DataFrame) -> pd.DataFrame:
        queries = [self._query(topic) for topic in topics.to_dict("records")]
        if not queries:
            empty = pd.DataFrame({"docno": [], "score": [], "rank": []})
            return topics.join(empty.astype({"docno": str, "score": float, "rank": int}))
        with self._lock:
            ranking = self.retriever.search(queries, self.k)
        present = ranking.rows != NO_ROW
        owner, rank = np.nonzero(present)
        kept = topics.iloc[owner].reset_index(drop=True)
        return kept.assign(
            docno=self.recommender.index.corpus.ids(ranking.rows[present]),
            score=strictly_falling(ranking.scores)[present].astype(np.float64),
            rank=rank,
        )

    def _query(self, topic: dict[Any, Any]) -> Query:
        texts = {name: _text(topic.get(name)) for name in TEXTS}
        year, paper, id_ = _year(topic.get("year")), _text(topic.get("paper")), str(topic["qid"])
        if sum(map(len, texts.values())) > MAX_CHARACTERS:
            raise InputError(f"the topic has more than {MAX_CHARACTERS:,} characters", where=f"qid {id_}")
        if any(texts.values()):
            query = self.recommender.query(**texts, year=year, paper=paper or None, id=id_)
        else:
            query = query_of(self.recommender, _text(topic["query"]), year=year, id_=id_, paper=paper or None)
        sentence = topic.get("sentence")
        query = replace(
            query,
            authors=_texts(topic.get("authors")),
            keyphrases=_texts(topic.get("keyphrases")),
            venue=_text(topic.get("venue")),
            sentence=NO_ROW if sentence is None or pd.isna(sentence) else int(sentence),
        )
        return query.older_candidates() if self.candidates == "older" else query


def _blocks(topics: pd.DataFrame, size: int) -> Iterator[pd.DataFrame]:
    for start in range(0, len(topics), size):
        yield topics.iloc[start : start + size]


def _text(value: Any) -> str:
    """A cell as text; empty where there is none."""
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    """A cell as a list of texts; empty where there is none."""
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, list | tuple | np.ndarray) else ()


def _year(value: Any) -> int | None:
    """A cell as a year; None where there is none."""
    if value is None or pd.isna(value):
        return None
    if not 0 <= value <= 9999 or int(value) != value:
        raise InputError(f"{value!r} is no year", where="year")
    return int(value) or None


def topics_of(task: EvalTask) -> pd.DataFrame:
    """The queries of a task as topics that a :class:`CociteTransformer` reads whole.

    Returns:
        ``qid``, ``query`` (the context where there is one, else the title), and the columns that a
        :class:`CociteTransformer` reads besides.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.evaluation import tasks
        >>> topics_of(tasks.build(starter_corpus(), "global", sample=5))["paper"].tolist()[0] in starter_corpus().ids(
        ...     range(423))
        True
    """
    queries = list(task.queries)
    return pd.DataFrame(
        {
            "qid": [query.id for query in queries],
            "query": [query.context or query.title for query in queries],
            "context": [query.context for query in queries],
            "title": [query.title for query in queries],
            "abstract": [query.abstract for query in queries],
            "year": pd.array([query.year or None for query in queries], dtype="Int64"),
            "venue": [query.venue for query in queries],
            "authors": [list(query.authors) for query in queries],
            "keyphrases": [list(query.keyphrases) for query in queries],
            "paper": task.corpus.ids([query.paper for query in queries]),
            "sentence": [query.sentence for query in queries],
        }
    )


def qrels_of(task: EvalTask) -> pd.DataFrame:
    """The judgements of a task, as PyTerrier's experiments read them.

    Returns:
        ``qid``, ``docno`` and ``label``, which is 1.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.evaluation import tasks
        >>> qrels_of(tasks.build(starter_corpus(), "global")).columns.tolist()
        ['qid', 'docno', 'label']
    """
    owner, rows = task.relevant.gather(np.arange(len(task)))
    ids = task.ids
    return pd.DataFrame({"qid": [ids[i] for i in owner.tolist()], "docno": task.corpus.ids(rows), "label": 1})
