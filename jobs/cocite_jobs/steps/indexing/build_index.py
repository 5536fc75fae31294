"""Building an index in shards, whose parts are made in this process or side by side as tasks of Ray.

The version is equal, file by file, to that of a build in one process: the parts are the same, and one process puts
them together. What the parts wrote is kept in a hidden folder beside the index until the version is there, so that a
build that was interrupted goes on with the parts that are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.part_files import LocalFiles
from cocite.protocols import Encoder
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.shard_build import ENCODE, assemble, build_stages, describe_shards
from cocite.retrieval.index.sharded_plan import ShardedPlan
from cocite.retrieval.index.stored_corpus import read_bodies
from cocite.retrieval.index.version_writer import check_index_folder, new_version
from cocite.retrieval.index.versions import KEEP, VersionedFolder
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.cluster.resources import living_nodes
from cocite_jobs.steps.indexing.remote_version import RemoteVersion
from cocite_jobs.steps.indexing.shard_parts import ShardParts
from cocite_jobs.steps.parts import FinishedParts, Part, Result
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.cache import fetch_bodiless, fetch_local
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock


@dataclass(frozen=True)
class Built:
    """A version of an index that was built.

    Attributes:
        version: its name.
        meta: of its manifest.
        seconds: that parts were made, added up.
        times: CPU seconds of the parts of each stage.

    Example:
        >>> Built("000001", {"papers": 423}, 2.0, [[0.5, 0.5], [0.25]]).cpu_seconds
        1.25
    """

    version: str
    meta: dict[str, Any]
    seconds: float
    times: list[list[float]]

    @property
    def cpu_seconds(self) -> float:
        """Of all parts."""
        return sum(map(sum, self.times))


def build_on_ray(
    corpus: str,
    to: str,
    *,
    address: str | None,
    count: int | None,
    cpus: float,
    gpus: float | None = None,
    accelerator: str = "",
    wait: bool = False,
    **options: Any,
) -> Built:
    """Build an index by workers of Ray; see :func:`build_index` for the options.

    Args:
        corpus: a store, by its path or URI.
        to: the index folder, likewise.
        address: of a running cluster; see :class:`~cocite_jobs.steps.run_parts.Workers`.
        count: workers at a time, at most.
        cpus: cores of each, which are its threads.
        gpus, accelerator, wait: see :class:`~cocite_jobs.steps.run_parts.Workers`; GPUs are reserved for the parts
            that encode papers.
        options: of :func:`build_index`.
    """
    workers = Workers("ray", address, count, cpus, gpus, accelerator, wait)
    return build_index(corpus, to, workers, **options)


def build_index(
    corpus: str | Path,
    to: str | Path,
    workers: Workers,
    *,
    shards: int,
    encoders: Sequence[Encoder] = (),
    model: str | Path | None = None,
    vectors_from: str | Path | None = None,
    bm25: Bm25Fields | None = None,
    known_until: int | None = None,
    before_split: str | None = None,
    vector_kind: str = "auto",
    keep: int = KEEP,
    advance: Callable[[int], None] = lambda _: None,
) -> Built:
    """Index a corpus in shards as a new, current version of an index folder, which is made if need be.

    Args:
        corpus: a store, by its path or URI; workers of other machines see it there, too.
        to: the index folder, likewise. Of a folder elsewhere no old version is deleted.
        workers: who makes the parts.
        shards: how many.
        encoders: of the index, as this process loaded them.
        model: the model folder that workers load encoders from.
        vectors_from: vectors of ``cocite embed``, which take the place of encoders.
        bm25, known_until, before_split, vector_kind, keep: as in
            :meth:`~cocite.retrieval.index.sharded_index.ShardedIndex.create`.
        advance: receives the number of texts and vectors made since its last call.

    Raises:
        InputError: an argument does not fit the corpus, or something else is in the index folder.
        BusyError: another process writes a version.
        CociteError: a part could not be made; those that were made are kept.
    """
    if shards < 2:
        raise InputError(
            "an index that is built by workers has two shards or more", where="--shards", hint="give more"
        )
    root, bodies = Location.of(to), read_bodies(encoders)
    store = Corpus.open(fetch_local(corpus) if bodies else fetch_bodiless(corpus))
    if root.local is not None:
        check_index_folder(root.local)
    bm25 = bm25 or Bm25Fields()
    plan = ShardedPlan.of(
        store,
        shards=shards,
        encoders=encoders,
        bm25=bm25,
        known_until=known_until,
        before_split=before_split,
        vector_kind=vector_kind,
    )
    if not encoders or vectors_from is not None:
        workers = replace(workers, gpus=0.0)
    with ExitStack() as stack:
        elsewhere = None
        if root.local is None:  # under the lock: a build that ended meanwhile has taken a number
            stack.enter_context(output_lock(root, "index.build"))
            elsewhere = RemoteVersion.next(root)
        work = ShardParts(
            corpus=Location.of(corpus).uri,
            corpus_version=store.version,
            bodies=bodies,
            shards=shards,
            files=root.parent / f".{root.name}.parts",
            version=root if elsewhere is None else elsewhere.folder,
            known_until=known_until,
            before_split=before_split,
            model=_everywhere(model),
            vectors_from=_everywhere(vectors_from),
            encoder_ids=tuple(plan.meta["encoder_ids"].items()),
            bm25=tuple(bm25.changed().items()),
            vector_kind=vector_kind,
            threads=max(1, int(workers.cpus)),
        )
        if workers.on == "ray":  # one Ray for all stages, and nothing is written without it
            stack.enter_context(ray_connection(workers.address, verbose=workers.verbose))
            workers = workers.on_nodes(living_nodes())
        parts = _Parts(plan, work, workers, advance)
        if elsewhere is not None:
            meta = elsewhere.publish(plan, partial(parts.write_elsewhere, elsewhere))
            name = elsewhere.name
        else:
            meta = {}
            with new_version(Path(root.path), meta, keep) as folder:
                meta |= plan.fill(folder, parts.write_here)
            name = VersionedFolder(root.path).current()
        work.files.clear()
    return Built(name, meta, parts.seconds, parts.times)


@dataclass
class _Parts:
    """The parts of a build in the making.

    Attributes:
        plan: of the index.
        work: how a part is made.
        workers: who makes them.
        advance: receives the texts of each part that is made.
        seconds: that the parts took, added up.
        times: CPU seconds of the parts of each stage.
    """

    plan: ShardedPlan
    work: ShardParts
    workers: Workers
    advance: Callable[[int], None]
    seconds: float = 0.0
    times: list[list[float]] = field(default_factory=list)

    def write_here(self, version: Path) -> dict[str, Any]:
        """Make the parts, and link what they wrote into the folder of a version."""
        made = self._make()
        assemble(self.plan.inputs(LocalFiles(Path(self.work.files.path))), version)
        return describe_shards(made)

    def write_elsewhere(self, elsewhere: RemoteVersion, version: Path) -> dict[str, Any]:
        """Make the parts, which upload what they wrote; fetch what the manifest of the version is made of."""
        made = self._make(forget=elsewhere.folder.clear)
        elsewhere.fetch_tables(version)
        return describe_shards(made)

    def _make(self, forget: Callable[[], None] = lambda: None) -> list[Result]:
        """Make the parts that are missing; returns what those of the last stage gave."""
        files = self.work.files
        finished = FinishedParts(files / "finished", self.work.key)
        if not finished.read():  # what is there belongs to another corpus or other settings
            files.clear()
            forget()
        made: list[Result] = []
        for stage in build_stages(self.plan.inputs(LocalFiles(Path()))):
            parts = [Part(part.name, part.texts) for part in stage.parts]
            made = self._make_stage(parts, finished)
            self.seconds += sum(result["seconds"] for result in made)
            self.times.append([result["cpu_seconds"] for result in made])
            for name in stage.spent:
                (files / name).clear()
        return made

    def _make_stage(self, parts: list[Part], finished: FinishedParts) -> list[Result]:
        """Make the parts of a stage. Where workers have GPUs, only those that encode papers take them, and go first."""
        here, first = self.workers, list[Result]()
        if here.gpus:
            encode = [part for part in parts if part.name.startswith(f"{ENCODE}.")]
            first = run_parts(self.work, encode, finished, here, advance=self.advance)
            parts = [part for part in parts if part not in encode]
            here = replace(here, gpus=0.0)
        return first + run_parts(self.work, parts, finished, here, advance=self.advance)


def _everywhere(source: str | Path | None) -> str | None:
    """A path or URI as workers are given it, who work in other folders."""
    return None if source is None else Location.of(source).uri
