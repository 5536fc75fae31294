"""Ranks the queries of an evaluation's task in parts, in this process or as tasks of Ray, and joins what they found.

Metrics and run are equal, to the last digit and byte, to those of one process. Of the rankings only what the metrics
need comes back: the ranks of the relevant papers, and sums over batches. Runs are written part by part, and joined.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cocite.evaluation import systems, tasks
from cocite.evaluation.experiment import EvalResult, RankedQueries, rank_some
from cocite.evaluation.hits import Hits
from cocite.evaluation.tasks import EvalTask, paper_ids
from cocite.evaluation.trec import RunWriter, join_runs
from cocite.progress_bars import Advance
from cocite.retrieval.index.reuse import index_of
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.steps.files import open_seen, read_arrays, read_file, write_file
from cocite_jobs.steps.parts import FinishedParts, Part, Result
from cocite_jobs.steps.ranking.chosen_system import ChosenSystem, part_queries
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock

FORM = 2
"""Of what a part finds; to be raised when it changes, so that parts of another form are made anew."""


@dataclass(frozen=True)
class ChosenTask:
    """A task of a corpus by what determines it, as it travels to workers.

    Attributes:
        corpus: the store, by its path or URI, which every worker sees.
        version: of the store.
        name: ``local`` or ``global``.
        split: whose papers ask.
        sample: number of queries; None: all.
        seed: of the sample.
        min_citations: the queries of ``global`` cite at least so many papers of the corpus; None: one.

    Example:
        >>> ChosenTask("/data/corpus", "12ab", "global", "test").seed
        0
    """

    corpus: str
    version: str
    name: str
    split: str
    sample: int | None = None
    seed: int = 0
    min_citations: int | None = None

    def open(self) -> EvalTask:
        """The task, as this machine sees its corpus."""
        corpus = open_seen(self.corpus, self.version)
        return tasks.build(
            corpus,
            self.name,
            self.split,
            sample=self.sample,
            seed=self.seed,
            min_citations=self.min_citations,
        )


@dataclass(frozen=True)
class RankTask:
    """Ranks parts of a task; a :class:`~cocite_jobs.steps.parts.Work`.

    Attributes:
        task: the queries.
        system: what ranks, over an index under the history before the task's split.
        measured: the names of all systems that are measured: the index has the vectors that these need.
        k: depth of the rankings.
        batch: queries ranked at a time.
        to: the folder of what the parts find.

    Example:
        >>> task = ChosenTask("/data/corpus", "12ab", "global", "test")
        >>> system = ChosenSystem("bm25", "/data/index", "000001", "34cd")
        >>> RankTask(task, system, ("bm25", "first"), 100, 64, Location.of("/data/.runs.parts/bm25")).system.name
        'bm25'
    """

    task: ChosenTask
    system: ChosenSystem
    measured: tuple[str, ...]
    k: int
    batch: int
    to: Location

    def open(self) -> Callable[[Part], Result]:
        """Open corpus, index and system.

        Raises:
            CociteError: this machine does not see them, or sees others than the driver; or the index lacks vectors.
        """
        task = self.task.open()
        encoders = systems.encoders_for(self.system.open_model(), self.measured)
        saved = self.system.open_index()
        for encoder in encoders:  # each worker would compute the vectors of all papers
            saved.check_encoder(encoder)
        history = tasks.history_before(task.corpus, self.task.split)
        rank = self.system.open(index_of(task.corpus, history, encoders, saved=saved))

        def make(part: Part) -> Result:
            cpu = time.process_time()
            first, last = part.arguments
            text = io.StringIO()
            writer = RunWriter(text, partial(paper_ids, task.corpus), self.system.name)
            found = rank_some(task, rank, first, last, k=self.k, batch=self.batch, write=writer.write)
            run = write_file(self.to, f"{part.name}.trec", text.getvalue().encode())
            ranks = write_file(self.to, f"{part.name}.npz", _packed(found))
            return {"run": run, "ranks": ranks, "cpu_seconds": time.process_time() - cpu}

        return make


def rank_task(
    work: RankTask,
    queries: int,
    workers: Workers,
    *,
    run: Path | None,
    advance: Advance,
    size: int | None = None,
    receive: Callable[[Result], object] = lambda _: None,
) -> EvalResult:
    """Rank all queries of a task with one system.

    Args:
        work: the task and the system.
        queries: of the task.
        workers: who ranks.
        run: a TREC run file to write as well.
        advance: receives the number of queries of each part that is ranked.
        size: queries of a part, whole batches; by default as many as have a million lines.
        receive: called with the result of each part: CPU seconds among it.

    Raises:
        CociteError: a part could not be made; those that were made are kept in ``work.to``.
    """
    size = size or part_queries(work.k, work.batch)
    parts = [
        Part(f"{number:06d}", min(size, queries - first), (first, min(first + size, queries)))
        for number, first in enumerate(range(0, queries, size))
    ]
    key = [FORM, asdict(work.task), work.system.key, work.measured, work.k, work.batch, size]
    finished = FinishedParts(work.to / "finished", json.dumps(key, sort_keys=True))
    results = run_parts(work, parts, finished, workers, advance=advance)
    for result in results:
        receive(result)
    if run is not None:
        join_runs(run, (read_file(work.to, result["run"]) for result in results))
    return EvalResult.of(_unpacked(work.to, results))


@contextmanager
def ranking_in_parts(
    task: ChosenTask,
    queries: int,
    index: Path,
    model: Path | None,
    measured: tuple[str, ...],
    *,
    beside: str | Path,
    k: int,
    batch: int,
    workers: Workers,
    **chosen: Any,
) -> Iterator[Callable[[str, Path | None, Advance], EvalResult]]:
    """What ranks a task with each of some systems while the block runs, on one Ray for all.

    The parts are kept in a hidden folder until the block ends without an error.

    Args:
        task: the queries.
        queries: how many there are.
        index: the index folder.
        model: the model folder.
        measured: the names of the systems.
        beside: path or URI of what is made, which workers see, too: the hidden folder lies beside it.
        k: depth of the rankings.
        batch: queries ranked at a time.
        workers: who ranks.
        chosen: ``rerank`` and ``candidates`` of :class:`ChosenSystem`.

    Raises:
        BusyError: another process of this machine ranks into the same folder.
    """
    place = Location.of(beside)
    scratch = place.parent / f".{place.name}.parts"

    def rank_with(name: str, run: Path | None, advance: Advance) -> EvalResult:
        system = ChosenSystem.over(index, name, model, **chosen)
        work = RankTask(task, system, measured, k, batch, scratch / name)
        return rank_task(work, queries, workers, run=run, advance=advance)

    with output_lock(scratch.parent, f"{place.name}.ranking"), ExitStack() as stack:
        if workers.on == "ray":
            stack.enter_context(ray_connection(workers.address, verbose=workers.verbose))
        yield rank_with
        scratch.clear()


def _packed(found: RankedQueries) -> bytes:
    buffer = io.BytesIO()
    hits = found.hits
    np.savez(
        buffer,
        indptr=hits.indptr,
        ranks=hits.ranks,
        rows=hits.rows,
        citing=np.zeros(0, np.int32) if hits.citing is None else hits.citing,  # None: of no query
        self_citation=found.self_citation,
        counts=np.array([hits.depth, found.empty]),
        seconds=np.array(found.seconds),
        allow_pickle=False,
    )
    return buffer.getvalue()


def _unpacked(of: Location, results: list[Result]) -> Iterator[RankedQueries]:
    for result in results:
        file = read_arrays(of, result["ranks"])
        depth, empty = file["counts"].tolist()
        hits = Hits(file["indptr"], file["ranks"], file["rows"], depth, file["citing"])
        yield RankedQueries(hits, file["self_citation"], float(file["seconds"]), empty)
