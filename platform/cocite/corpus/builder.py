"""Builds a corpus store from a stream of records, in memory that does not grow with the texts or the links.

A :class:`~cocite.corpus.staging.StagingArea` takes the records and spills them; a
:class:`~cocite.corpus.resolver.Resolver` turns what was spilled into a store.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cocite.artifacts import publish
from cocite.corpus.division.assembly import write_divided
from cocite.corpus.division.survey import can_be_divided
from cocite.corpus.records import Record
from cocite.corpus.resolver import Resolver
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.rules import Limits
from cocite.corpus.staged_parts import StagedParts
from cocite.corpus.staging import StagingArea
from cocite.corpus.store import KIND, Corpus
from cocite.corpus.streams import BlockStream, FileRecordStream, RecordStream, SourcePosition
from cocite.destinations import check_artifact_destination
from cocite.errors import InputError
from cocite.locks import locked_for_writing


def build(
    records: Iterable[Record] | StagedParts,
    destination: str | Path,
    *,
    limits: Limits | None = None,
    strict: bool = False,
    rejects: str | Path | None = None,
    split: Callable[[int], str] | None = None,
    links_from_contexts: bool | None = None,
    base: Corpus | None = None,
    bodies: bool = True,
    replace: bool = False,
    meta: dict[str, Any] | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Corpus:
    """Build and publish a store: it appears whole, or not at all.

    Args:
        records: papers, citations, contexts and sentences in any order; a
            :class:`~cocite.corpus.streams.RecordStream` says where each stands in its source. Or parts of a source
            that were staged before, with the same ``limits``, ``strict`` and ``bodies``.
        destination: the folder to make.
        limits: what a field may hold.
        strict: stop at the first bad record.
        rejects: file for what is rejected or dropped; removed again when it is empty.
        split: gives a paper's split by its year, in place of the source's.
        links_from_contexts: make a citation of each (citing, cited) of a context; None: where the source names no
            citations itself.
        base: a store whose papers, links and texts come first, under their present rows. New papers may cite old ones.
            What an old paper cites does not change, and contexts or sentences of old papers are rejected: an index
            knows their positions.
        bodies: keep body sentences; without, those of the base and of the records are left out, unexamined.
        replace: put the new store in the place of an existing one.
        meta: further entries for the manifest, such as the source's name and format.
        on_step: called with the name of each step after the last record.

    Raises:
        InputError: a bad record in a strict import, a source without a paper that can be kept, or an existing
            destination.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.records import PaperRecord
        >>> papers = [PaperRecord("a", "A", year=1999), PaperRecord("b", "B", year=2003, citations=("a", "unknown"))]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build(papers, f"{folder}/store", split=lambda year: "train" if year < 2000 else "test")
        ...     corpus.paper(1).citations, corpus.paper(1).split, corpus.counts["rules"]["unknown_citation"]
        (('a',), 'test', 1)
    """
    destination = Path(destination)
    check_artifact_destination(destination, replace=replace)
    description: dict[str, Any] = dict(meta or {})
    with ExitStack() as stack:
        stack.enter_context(locked_destination(destination))
        log = stack.enter_context(RuleLog(strict=strict, rejects=Path(rejects) if rejects else None))
        folder = stack.enter_context(publish(destination, kind=KIND, meta=description, replace=replace))
        description |= write_store(
            records,
            folder,
            log=log,
            limits=limits,
            split=split,
            links_from_contexts=links_from_contexts,
            base=base,
            bodies=bodies,
            on_step=on_step,
        )
        if isinstance(records, FileRecordStream | StagedParts) and description["counts"]["papers"] == len(
            base or ()
        ):
            hint = f"see {rejects}" if rejects else None
            raise InputError(
                f"no {'new ' if base else ''}paper can be kept: {log.why_empty()}",
                where=str(records.path),
                hint=hint if log.rejected else "a paper needs an id and a title",
            )
    return Corpus.open(destination, verified=True)


def write_store(
    records: Iterable[Record] | StagedParts,
    folder: Path,
    *,
    log: RuleLog,
    limits: Limits | None = None,
    split: Callable[[int], str] | None = None,
    links_from_contexts: bool | None = None,
    base: Corpus | None = None,
    bodies: bool = True,
    on_step: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Write a store's files into an empty folder, without a manifest; see :func:`build` for the arguments.

    Returns:
        For the manifest: ``counts``, ``samples`` of the rules' hits, and ``unknown_fields`` with their counts.
    """
    limits = limits or Limits()
    if isinstance(records, StagedParts) and base is None and can_be_divided(records, limits.id):
        counts = write_divided(
            records,
            folder,
            log=log,
            limits=limits,
            split=split,
            links_from_contexts=links_from_contexts,
            bodies=bodies,
            on_step=on_step or (lambda _: None),
        )
        return _description(counts, log)
    staging = StagingArea(folder, log=log, limits=limits, split=split, base=base, bodies=bodies)
    try:
        if isinstance(records, StagedParts):
            for share in records.shares():
                staging.take(share)
        elif isinstance(records, RecordStream):
            for record in records.record_blocks() if isinstance(records, BlockStream) else records:
                staging.add(record, records.position)
        else:
            position = SourcePosition("record")
            for number, record in zip(itertools.count(1), records, strict=False):
                position.line = number
                staging.add(record, position)
    except InputError:
        # What was read before the source turned out to be damaged is looked at first: it stands earlier.
        staging.flush()
        raise
    staging.close()
    counts = Resolver(staging, links_from_contexts=links_from_contexts, on_step=on_step).run()
    staging.remove_scratch()
    return _description(counts, log)


def _description(counts: dict[str, Any], log: RuleLog) -> dict[str, Any]:
    return {
        "counts": {**counts, "rules": log.summary()},
        "samples": log.samples,
        "unknown_fields": list(log.unknown_fields.values()),
    }


@contextmanager
def locked_destination(destination: Path) -> Iterator[None]:
    """Keep other imports away from a destination while the block runs."""
    target = Path(os.path.realpath(destination))
    with locked_for_writing(target.with_name(f".{target.name}.lock"), destination):
        yield
