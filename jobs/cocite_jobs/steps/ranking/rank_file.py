"""Ranks the queries of a file in parts, in this process or as tasks of Ray, and joins their runs.

The run is equal, byte for byte, to that of one process. The parts are kept beside it until it is there: a ranking that
ended early goes on with those that are missing. No process holds more than the rankings of a part.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from cocite.artifacts import sha256
from cocite.evaluation.queries import QueryFile, QueryRange
from cocite.evaluation.ranked_file import RankedFile, rank_file
from cocite.evaluation.tasks import paper_ids
from cocite.evaluation.trec import RunWriter, join_runs
from cocite.progress_bars import ProgressBars, no_bars
from cocite_jobs.steps.files import fetch_seen_file, place_of, read_file, write_file
from cocite_jobs.steps.parts import FinishedParts, Part, Result
from cocite_jobs.steps.ranking.chosen_system import ChosenSystem, part_queries
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock


@dataclass(frozen=True)
class RankQueries:
    """Ranks parts of a file of queries; a :class:`~cocite_jobs.steps.parts.Work`.

    Attributes:
        system: what ranks.
        queries: the file, by its path or URI, which every worker sees.
        digest: of that file: its SHA-256.
        k: depth of the rankings.
        batch: queries ranked at a time.
        tag: name of the system in the run.
        to: the folder of the parts' runs.

    Example:
        >>> system = ChosenSystem("bm25", "/data/index", "000001", "12ab")
        >>> RankQueries(system, "/data/queries.jsonl", "34cd", 100, 64, "bm25", Location.of("/data/.run.parts")).k
        100
    """

    system: ChosenSystem
    queries: str
    digest: str
    k: int
    batch: int
    tag: str
    to: Location

    def open(self) -> Callable[[Part], Result]:
        """Open the index, the system and the queries.

        Raises:
            CociteError: this machine does not see them, or sees others than the driver.
        """
        index = self.system.open_index()
        rank = self.system.open(index)
        queries = fetch_seen_file(self.queries, self.digest, "file of queries")

        def make(part: Part) -> Result:
            cpu = time.process_time()
            file = QueryFile(queries, index.corpus, QueryRange(**part.arguments))
            text = io.StringIO()
            writer = RunWriter(text, partial(paper_ids, index.corpus), self.tag)
            ranked = rank_file(file, rank, writer, k=self.k, batch=self.batch)
            entry = write_file(self.to, f"{part.name}.trec", text.getvalue().encode())
            return {"run": entry, "ranked": asdict(ranked), "cpu_seconds": time.process_time() - cpu}

        return make


def rank_in_parts(
    index: Path,
    name: str,
    model: Path | None,
    queries: Path,
    to: Path,
    *,
    beside: str | Path,
    k: int,
    batch: int,
    tag: str,
    workers: Workers,
    bars: ProgressBars = no_bars,
    size: int | None = None,
    receive: Callable[[Result], object] = lambda _: None,
    **chosen: object,
) -> RankedFile:
    """Rank the queries of a file, and write the run.

    Args:
        index: the index folder; of a copy, whose URI the workers read, the shards need not be there.
        name: of the system.
        model: the model folder.
        queries: the file; all of it is checked before a query is ranked.
        to: the run file to write.
        beside: the run by the path or URI that workers see: the parts are kept beside it until the run is there.
        k: depth of the rankings.
        batch: queries ranked at a time.
        tag: name of the system in the run.
        workers: who ranks.
        bars: of the ranking.
        size: queries of a part; by default as many as have a million lines.
        receive: called with the result of each part: CPU seconds among it.
        chosen: ``form``, ``rerank`` and ``candidates`` of :class:`ChosenSystem`.

    Raises:
        InputError: a line of the file is malformed, or the index lacks what the system needs.
        BusyError: another process of this machine ranks into the same file.
        CociteError: a part could not be made; those that were made are kept.
    """
    system = ChosenSystem.over(index, name, model, **chosen)
    scratch = Location.of(beside).parent / f".{Location.of(beside).name}.parts"
    digest = sha256(queries)
    work = RankQueries(system, place_of(queries), digest, k, batch, tag, scratch)
    size = size or part_queries(k, batch)
    with system.opened_corpus(index) as corpus:
        ranges = list(QueryFile(queries, corpus).ranges(size))
    parts = [Part(f"{number:06d}", found.count, asdict(found)) for number, found in enumerate(ranges)]
    # The content of the file, not its path: another machine, which goes on, has a copy of its own.
    key = [system.key, k, batch, tag, size, digest]
    with output_lock(scratch.parent, f"{scratch.name.strip('.')}.ranking"):
        finished = FinishedParts(scratch / "finished", json.dumps(key, sort_keys=True))
        with bars("ranking", sum(part.size for part in parts)) as advance:
            results = run_parts(work, parts, finished, workers, advance=advance)
        for result in results:
            receive(result)
        join_runs(to, (read_file(scratch, result["run"]) for result in results))
        scratch.clear()
    return RankedFile.total([RankedFile(**result["ranked"]) for result in results])


def rank_on_ray(
    index: Path,
    *arguments: Path | str | None,
    address: str | None,
    count: int,
    cpus: float = 1.0,
    gpus: float | None = 0.0,
    accelerator: str = "",
    wait: bool = False,
    **options: object,
) -> RankedFile:
    """Rank a file by workers of Ray; see :func:`rank_in_parts`.

    Args:
        index: the index folder.
        arguments: further ones of :func:`rank_in_parts`.
        address: of a running cluster; see :class:`~cocite_jobs.steps.run_parts.Workers`.
        count: workers at a time.
        cpus, gpus, accelerator, wait: likewise.
        options: of :func:`rank_in_parts`.
    """
    workers = Workers("ray", address, count, cpus, gpus, accelerator, wait)
    return rank_in_parts(
        index,
        *arguments,  # type: ignore[arg-type]
        workers=workers,
        **options,  # type: ignore[arg-type]
    )
