"""Imports a corpus in parts, which are read in this process or side by side as tasks of Ray.

The store is equal, byte for byte, to that of an import by one process. A part holds what does not need the other parts
(:mod:`cocite.corpus.share`); one process looks at their ids, and the parts are resolved and put in order side by side
(:mod:`cocite.corpus.division`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cocite.corpus.builder import build
from cocite.corpus.division.assembly import DIVIDED
from cocite.corpus.importers.files import folder_files
from cocite.corpus.importers.source import Source
from cocite.corpus.importers.table import Table
from cocite.corpus.rules import Limits
from cocite.corpus.staged_parts import STAGED, RunStep, StagedPart, StagedParts
from cocite.corpus.store import Corpus
from cocite.destinations import check_artifact_destination
from cocite.errors import InputError
from cocite_jobs.steps.importing.stage_parts import StageParts, part_of
from cocite_jobs.steps.importing.step_parts import NumberedStep, StepParts
from cocite_jobs.steps.parts import FinishedParts, Part
from cocite_jobs.steps.run_parts import Workers, connected, run_parts
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock
from cocite_jobs.storage.part_files import part_files

PART_BYTES = 64 << 20
"""Bytes of the source in a part, about: at most so much work is lost with a worker."""
LAYOUT = 3
"""Of the files of a part: what an earlier cocite staged in another layout is made anew."""


def import_on_ray(
    source: Source,
    to: Path,
    source_uri: str = "",
    to_uri: str = "",
    *,
    address: str | None = None,
    count: int | None = None,
    wait: bool = False,
    **options: Any,
) -> Corpus:
    """Import a corpus by workers of Ray; see :func:`import_in_parts` for the options.

    Args:
        source: the source.
        to: the store to make.
        source_uri: as in :func:`import_in_parts`.
        to_uri: likewise.
        address: of a running cluster; see :class:`~cocite_jobs.steps.run_parts.Workers`.
        count: workers at a time, at most.
        wait: for nodes that the cluster does not have yet.
        options: of :func:`import_in_parts`.
    """
    workers = Workers(on="ray", address=address, count=count, wait=wait)
    return import_in_parts(source, to, workers, source_uri=source_uri, to_uri=to_uri, **options)


def import_in_parts(
    source: Source,
    to: Path,
    workers: Workers,
    *,
    source_uri: str = "",
    to_uri: str = "",
    part_bytes: int = PART_BYTES,
    limits: Limits | None = None,
    strict: bool = False,
    replace: bool = False,
    on_step: Callable[[str], None] = lambda _: None,
    advance: Callable[[int], None] = lambda _: None,
    **options: Any,
) -> Corpus:
    """Import a corpus in parts.

    The parts are kept beside the store until it is there: an import that was interrupted goes on with those that are
    missing. After an error of the source they are removed.

    Args:
        source: the source, on this machine.
        to: the store to make, likewise.
        workers: who reads the parts.
        source_uri: where workers of other machines find the source; empty: under the same path.
        to_uri: where the caller will put the store; the parts are kept beside it, where workers of other machines
            write them. Empty: in the store's folder.
        part_bytes: bytes of the source in a part, about.
        limits: what a field may hold.
        strict: raise at the first bad record; other parts may have been read before.
        replace: put the new store in the place of an existing one.
        on_step: called with the name of each step after the reading.
        advance: called with the bytes of each part that is read.
        options: further ones of :func:`cocite.corpus.builder.build`.

    Raises:
        InputError: as an import by one process does.
        CociteError: a part could not be read.
    """
    check_artifact_destination(to, replace=replace)
    limits = limits or Limits()
    origin = Location.of(source_uri or os.path.abspath(source.path))
    store = Location.of(to_uri or os.path.realpath(to))
    scratch = store.parent / f".{store.name}.parts"
    with output_lock(store.parent, f"{store.name}.parts"):
        with connected(workers), _cleared(scratch):
            parts = source.parts(part_bytes)
            made_of = [part_of(number, part) for number, part in enumerate(parts)]
            columns = source.columns if isinstance(source, Table) else None
            given = tuple(sorted((columns or {}).items()))
            work = StageParts(origin.uri, source.format, scratch / STAGED, limits, strict, given)
            results = run_parts(
                work,
                made_of,
                FinishedParts(scratch / "finished", _key(source, origin, work, part_bytes)),
                workers,
                advance=advance,
            )
            on_step("putting the parts together")
            with part_files(scratch) as files:
                staged = StagedParts(
                    source.path,
                    files,
                    [part.name for part in made_of],
                    parts,
                    [StagedPart(**result) for result in results],
                    limits,
                    _divided(scratch, workers),
                )
                corpus = build(
                    staged,
                    to,
                    limits=limits,
                    strict=strict,
                    replace=replace,
                    on_step=on_step,
                    **options,
                )
        scratch.clear()
    return corpus


@contextmanager
def _cleared(scratch: Location) -> Iterator[None]:
    """Remove what was made of a source that turns out to be wrong while the block runs."""
    try:
        yield
    except InputError:
        scratch.clear()
        raise


def _divided(scratch: Location, workers: Workers) -> RunStep:
    """What divides the steps after the reading."""
    # What is made of a part then depends on all of them: an import that was interrupted begins anew from here.
    divided = scratch / DIVIDED
    divided.clear()
    steps = itertools.count()

    def run(step: NumberedStep, count: int) -> list[dict[str, Any]]:
        numbers = [Part(f"{number:05d}", 1, number) for number in range(count)]
        finished = FinishedParts(divided / f"finished-{next(steps)}", "")
        return run_parts(StepParts(step, scratch), numbers, finished, workers)

    return run


def _key(source: Source, origin: Location, work: StageParts, part_bytes: int) -> str:
    """What determines the content of the parts."""
    if origin.local is None:  # the copy on this machine is as old as its download
        state = origin.file_state()
        states: list[Any] = [state] if state else sorted(origin.files_below().items())
    else:
        files = folder_files(source.path) if source.path.is_dir() else [source.path]
        states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    settings = [LAYOUT, work.format, work.columns, work.strict, asdict(work.limits), part_bytes, states]
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()
