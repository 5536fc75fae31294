"""Imports a corpus in parts, which are read in this process or side by side as tasks of Ray.

The store is equal, byte for byte, to that of an import by one process: a part holds what does not need the other parts
(:mod:`cocite.corpus.share`), and one process puts the parts together in the order of the source.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cocite.corpus.builder import build
from cocite.corpus.importers.files import folder_files
from cocite.corpus.importers.source import Source
from cocite.corpus.rules import Limits
from cocite.corpus.staged_parts import StagedPart, StagedParts
from cocite.corpus.store import Corpus
from cocite.destinations import check_artifact_destination
from cocite.errors import InputError
from cocite.locks import locked_for_writing
from cocite_jobs.steps.importing.stage_parts import StageParts, part_of
from cocite_jobs.steps.parts import FinishedParts
from cocite_jobs.steps.run_parts import Workers, run_parts
from cocite_jobs.storage.location import Location

PART_BYTES = 64 << 20
"""Bytes of the source in a part, about: at most so much work is lost with a worker."""


def import_on_ray(
    source: Source,
    to: Path,
    *,
    address: str | None = None,
    count: int | None = None,
    **options: Any,
) -> Corpus:
    """Import a corpus by workers of Ray; see :func:`import_in_parts` for the options.

    Args:
        source: the source.
        to: the store to make.
        address: of a running cluster; see :class:`~cocite_jobs.steps.run_parts.Workers`.
        count: workers at a time, at most.
        options: of :func:`import_in_parts`.
    """
    return import_in_parts(source, to, Workers(on="ray", address=address, count=count), **options)


def import_in_parts(
    source: Source,
    to: Path,
    workers: Workers,
    *,
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
        source: the source; workers of other machines open it under the same path.
        to: the store to make, in a folder that workers of other machines see.
        workers: who reads the parts.
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
    target = Path(os.path.realpath(to))
    scratch = target.with_name(f".{target.name}.parts")
    with locked_for_writing(target.with_name(f".{target.name}.parts.lock"), to):
        try:
            parts = source.parts(part_bytes)
            work = StageParts(
                Path(os.path.abspath(source.path)), source.format, scratch / "staged", limits, strict
            )
            work.folder.mkdir(parents=True, exist_ok=True)
            results = run_parts(
                work,
                [part_of(number, part) for number, part in enumerate(parts)],
                FinishedParts(Location.of(scratch / "finished"), _key(source, work, part_bytes)),
                workers,
                advance=advance,
            )
            on_step("putting the parts together")
            folders = [work.folder / part_of(number, part).name for number, part in enumerate(parts)]
            staged = [StagedPart(**result) for result in results]
            corpus = build(
                StagedParts(source.path, folders, parts, staged, limits),
                to,
                limits=limits,
                strict=strict,
                replace=replace,
                on_step=on_step,
                **options,
            )
        except InputError:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        shutil.rmtree(scratch)
    return corpus


def _key(source: Source, work: StageParts, part_bytes: int) -> str:
    """What determines the content of the parts."""
    files = folder_files(source.path) if source.path.is_dir() else [source.path]
    states = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    settings = [work.format, work.strict, asdict(work.limits), part_bytes, states]
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()
