"""The evaluation tasks of a corpus: queries with the papers that a system should retrieve.

- **local** (HAtten, section 4): a query is a citation context of a paper of the split, with the citing paper's title
  and abstract; relevant are all papers that the context cites. **Co-citation** (MP-BERT4CR) is the same task, sliced
  by the number of relevant papers.
- **global** (Citeomatic, section 4): a query is the title and abstract of a paper of the split that has links; relevant
  are all papers that it cites.

Candidates are all papers of the corpus but the citing one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import history_before as history_before
from cocite.corpus.splits import split_papers
from cocite.corpus.store import Corpus
from cocite.errors import InputError, nearest
from cocite.protocols import Query
from cocite.text.queries import CorpusQueries, context_queries, manuscript_queries

TASKS = ("local", "global")
"""Names of the tasks."""


@dataclass(frozen=True)
class EvalTask:
    """Queries with the papers that are relevant to them.

    Attributes:
        name: ``local`` or ``global``.
        corpus: the store that rows refer to.
        queries: Q queries; the id of a local one is the context's, of a global one the paper's. Those of a corpus are
            made when they are asked for.
        relevant: for each query, the rows of the papers it cites.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> task = global_(starter_corpus(), "test", sample=10, seed=1)
        >>> task.queries[0].title, len(task.relevant[0])
        ('A Simple Framework for Contrastive Learning of Visual Representations', 13)
    """

    name: str
    corpus: Corpus
    queries: Sequence[Query]
    relevant: CSR

    def __len__(self) -> int:
        return len(self.queries)

    def take(self, positions: NDArray[np.integer[Any]]) -> EvalTask:
        """Some of the queries."""
        owner, rows = self.relevant.gather(positions)
        if isinstance(self.queries, CorpusQueries):
            queries: Sequence[Query] = self.queries.take(positions)
        else:
            queries = [self.queries[i] for i in positions.tolist()]
        return EvalTask(self.name, self.corpus, queries, CSR.build(owner, rows, len(queries)))

    @property
    def ids(self) -> list[str]:
        """Ids of the queries."""
        return [query.id for query in self.queries]

    @cached_property
    def papers(self) -> NDArray[np.int32]:
        """(Q,) the paper that each query comes from, ``NO_ROW`` where there is none."""
        return np.array([query.paper for query in self.queries], np.int32)


def build(
    corpus: Corpus,
    task: str,
    split: str = "test",
    *,
    sample: int | None = None,
    seed: int = 0,
    min_citations: int | None = None,
) -> EvalTask:
    """The task of a name.

    Args:
        corpus: with a split.
        task: one of :data:`TASKS`.
        split: the papers that ask: ``train``, ``dev`` or ``test``.
        sample: number of queries to draw; all by default.
        seed: of the sample.
        min_citations: the queries of the global task are papers that cite at least so many of the corpus; None: one.

    Raises:
        InputError: there is no such task or split, no query in it, or ``min_citations`` of the local task.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> len(build(starter_corpus(), "global", "dev"))
        74
    """
    if task not in TASKS:
        raise InputError(f"no task is called {task!r}", hint=nearest(task, TASKS))
    if task == "global":
        return global_(corpus, split, sample=sample, seed=seed, min_citations=min_citations)
    if min_citations is not None:
        raise InputError(
            "the queries of the local task are contexts, of papers with any number of citations",
            where="--min-citations",
            hint="--task global",
        )
    return local(corpus, split, sample=sample, seed=seed)


def local(corpus: Corpus, split: str = "test", *, sample: int | None = None, seed: int = 0) -> EvalTask:
    """Each citation context of the split's papers; with ``sample``, that many of them drawn with ``seed``."""
    of_split = split_papers(corpus, split)
    cited = corpus.context_cited
    chosen = np.flatnonzero(of_split[corpus.context_citing] & (cited.degrees > 0))
    if not len(chosen):
        raise InputError(
            f"no paper of the {split} split has a citation context",
            where=str(corpus.path),
            hint="the global task needs links alone",
        )
    chosen = draw_sample(chosen, sample, seed)
    owner, rows = cited.gather(chosen)
    keep = rows != corpus.context_citing[chosen][owner]
    relevant = CSR.build(owner[keep], rows[keep], len(chosen))
    return EvalTask("local", corpus, CorpusQueries(context_queries, corpus, chosen), relevant)


def global_(
    corpus: Corpus,
    split: str = "test",
    *,
    sample: int | None = None,
    seed: int = 0,
    min_citations: int | None = None,
) -> EvalTask:
    """Each paper of the split that cites one of the corpus; with ``sample``, that many of them drawn with ``seed``.

    With ``min_citations`` each that cites at least so many; Citeomatic's are 10 on DBLP and PubMed (section 5).
    """
    least = 1 if min_citations is None else min_citations
    if least < 1:
        raise InputError(
            f"{least} citations: a query has at least one to find", where="--min-citations", hint="1 or more"
        )
    chosen = np.flatnonzero(split_papers(corpus, split) & (corpus.cites.degrees >= least))
    if not len(chosen):
        links = "a link" if least == 1 else f"{least} links or more"
        raise InputError(f"no paper of the {split} split has {links}", where=str(corpus.path))
    chosen = draw_sample(chosen, sample, seed)
    owner, rows = corpus.cites.gather(chosen)
    keep = rows != chosen[owner]
    relevant = CSR.build(owner[keep], rows[keep], len(chosen))
    return EvalTask("global", corpus, CorpusQueries(manuscript_queries, corpus, chosen), relevant)


def draw_sample(positions: NDArray[np.int64], sample: int | None, seed: int) -> NDArray[np.int64]:
    """Some of the positions, in their order, the same for the same seed.

    Raises:
        InputError: the sample is empty.

    Example:
        >>> draw_sample(np.arange(100), 5, seed=0)
        array([26, 30, 50, 61, 81])
    """
    if sample is None or sample >= len(positions):
        return positions
    if sample < 1:
        raise InputError(f"a sample of {sample} queries is none", hint="give a number of at least 1")
    return np.sort(np.random.default_rng(seed).choice(positions, sample, replace=False))


def paper_ids(corpus: Corpus, rows: NDArray[np.int32]) -> list[str]:
    """Ids of many rows at once, in the order given."""
    # ``take`` of Arrow copies the chosen strings without making one Python object a row first.
    column = corpus.papers.table.column("id")
    return list(column.take(pa.array(np.asarray(rows).ravel())).to_pylist())
