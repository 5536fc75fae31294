"""The evaluation tasks of a corpus: queries with the papers that should be found.

- **local** (HAtten, section 4): a query is a citation context of a paper of the split, with the citing paper's title
  and abstract at hand; relevant is all that the context cites. **Co-citation** (MP-BERT4CR) is the same task, sliced
  by the number of relevant papers.
- **global** (Citeomatic, section 4): a query is a paper of the split that has links, by title and abstract; relevant
  is all that it cites.

Candidates are all papers of the corpus but the citing one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.records import SPLITS
from cocite.corpus.store import Corpus
from cocite.errors import InputError, nearest
from cocite.protocols import Query
from cocite.text.queries import context_queries, manuscript_queries

TASKS = ("local", "global")


@dataclass(frozen=True)
class Task:
    """Queries and what is relevant to them.

    Attributes:
        name: ``local`` or ``global``.
        corpus: the store that rows refer to.
        queries: Q queries; the id of a local one is the context's, of a global one the paper's.
        relevant: for each query, the rows of the papers it cites.
    """

    name: str
    corpus: Corpus
    queries: Sequence[Query]
    relevant: CSR

    def __len__(self) -> int:
        return len(self.queries)

    def take(self, positions: NDArray[np.integer[Any]]) -> Task:
        """Some of the queries."""
        owner, rows = self.relevant.gather(positions)
        queries = [self.queries[i] for i in positions.tolist()]
        return Task(self.name, self.corpus, queries, CSR.build(owner, rows, len(queries)))

    @property
    def ids(self) -> list[str]:
        """Ids of the queries."""
        return [query.id for query in self.queries]


def build(
    corpus: Corpus, task: str, split: str = "test", *, sample: int | None = None, seed: int = 0
) -> Task:
    """The task of a name, one of ``TASKS``."""
    if task not in TASKS:
        raise InputError(f"no task is called {task!r}", hint=nearest(task, TASKS))
    make = local if task == "local" else global_
    return make(corpus, split, sample=sample, seed=seed)


def local(corpus: Corpus, split: str = "test", *, sample: int | None = None, seed: int = 0) -> Task:
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
    chosen = drawn(chosen, sample, seed)
    owner, rows = cited.gather(chosen)
    keep = rows != corpus.context_citing[chosen][owner]
    return Task(
        "local", corpus, context_queries(corpus, chosen), CSR.build(owner[keep], rows[keep], len(chosen))
    )


def global_(corpus: Corpus, split: str = "test", *, sample: int | None = None, seed: int = 0) -> Task:
    """Each paper of the split that cites one of the corpus; with ``sample``, that many of them drawn with ``seed``."""
    chosen = np.flatnonzero(split_papers(corpus, split) & (corpus.cites.degrees > 0))
    if not len(chosen):
        raise InputError(f"no paper of the {split} split has a link", where=str(corpus.path))
    chosen = drawn(chosen, sample, seed)
    owner, rows = corpus.cites.gather(chosen)
    keep = rows != chosen[owner]
    relevant = CSR.build(owner[keep], rows[keep], len(chosen))
    return Task("global", corpus, manuscript_queries(corpus, chosen), relevant)


def split_papers(corpus: Corpus, split: str) -> NDArray[np.bool_]:
    """(N,) whether a paper belongs to the split."""
    if split not in SPLITS[1:]:
        raise InputError(f"no split is called {split!r}", hint=nearest(split, SPLITS[1:]))
    of_split = np.asarray(corpus.split == SPLITS.index(split))
    if not len(corpus):
        raise InputError("holds no paper", where=str(corpus.path))
    if not of_split.any():
        raise InputError(
            f"no paper belongs to the {split} split",
            where=str(corpus.path),
            hint="import the corpus with a split",
        )
    return of_split


def history_before(corpus: Corpus, split: str) -> History:
    """What may be known when a split is judged.

    Where the corpus is split by year, that is all that papers of earlier years say; otherwise (a random split, or
    years unknown) what the papers of the earlier splits say.
    """
    of_split = split_papers(corpus, split)
    earlier = (corpus.split > 0) & (corpus.split < SPLITS.index(split))
    year = first_year(corpus, split) - 1
    if year > 0 and not (corpus.years[earlier] > year).any() and (corpus.years[of_split] > 0).all():
        return History.until(corpus, year)
    return History(corpus, np.asarray(earlier))


def first_year(corpus: Corpus, split: str) -> int:
    """The earliest known year of a split's papers; 0 when none is known."""
    years = corpus.years[split_papers(corpus, split)]
    return int(years[years > 0].min()) if (years > 0).any() else 0


def drawn(positions: NDArray[np.int64], sample: int | None, seed: int) -> NDArray[np.int64]:
    """Some of the positions, in their order, the same for the same seed."""
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
