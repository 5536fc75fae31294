"""Makes a store of staged parts: surveys them, has them resolved and put in order, and joins what came of it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.corpus.division.aligned import join
from cocite.corpus.division.order_range import LINKS, ORDERED, RANGES, TEXTS, OrderRange
from cocite.corpus.division.resolve_part import (
    DEGREES,
    EVENTS,
    KEPT,
    PAPER_PIECE,
    RESOLVED,
    ResolvePart,
)
from cocite.corpus.division.runs import INDEX, KINDS
from cocite.corpus.division.survey import Survey, split_codes, survey_parts
from cocite.corpus.links import bucket_limits
from cocite.corpus.records import CONTEXTS, PAPERS, SENTENCES, SPLITS
from cocite.corpus.resolution import keep_late, keep_unknown
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.rules import Limits
from cocite.corpus.spill import BatchWriter, NpyWriter
from cocite.corpus.staged_parts import StagedParts
from cocite.corpus.streams import SourcePosition
from cocite.part_files import PartFiles

DIVIDED = "divided"
"""The folder of what the steps write, among the parts' files."""
RANGE = 1 << 17
"""Papers and texts of a range of rows, about: a worker has the texts in memory."""


def write_divided(
    parts: StagedParts,
    folder: Path,
    *,
    log: RuleLog,
    limits: Limits,
    split: Callable[[int], str] | None,
    links_from_contexts: bool | None,
    bodies: bool,
    on_step: Callable[[str], None],
) -> dict[str, Any]:
    """Write a store's files; see :func:`cocite.corpus.builder.build` for the arguments.

    Beside the table of ids and the years (18 bytes a paper) and eight bytes a context, this process holds some 40 bytes
    a paper at a time, for degrees and offsets. A worker maps the table and the years, and holds a run of its part, or
    the texts of a range.

    Args:
        parts: with ``run``.

    Returns:
        The counts, as :meth:`cocite.corpus.resolver.Resolver.run` gives them.
    """
    assert parts.run is not None
    files = parts.files
    # A name of its own: a machine that keeps copies of what it reads has none of an earlier import.
    scratch = f"{DIVIDED}/{uuid.uuid4().hex[:8]}"
    survey = survey_parts(parts, f"{scratch}/{KEPT}", log)
    from_contexts = survey.links == 0 if links_from_contexts is None else links_from_contexts
    names = tuple(parts.names)
    resolve = ResolvePart(scratch, names, limits.later_years, from_contexts, bodies)
    with files.write(resolve.shared) as to:
        _write_survey(survey, to, split)
    on_step("resolving the parts")
    results = parts.run(resolve, len(names))
    resolved = [f"{scratch}/{RESOLVED}/{number:05d}" for number in range(len(names))]
    _report(results, files, resolved, survey, log)
    on_step("ordering texts and citations")
    count = len(survey.table)
    degrees, index = _look_at(files, resolved, count)
    edges = _edges(degrees, count)
    starts = {name: _starts(degree, edges) for name, degree in degrees.items()}
    order = OrderRange(scratch, bodies)
    with files.write(order.shared) as to:
        (to / RANGES).write_text(json.dumps({"limits": edges, **starts}))
        (to / INDEX).write_bytes(index)
    parts.run(order, len(edges) - 1)
    on_step("joining the parts")
    ranges = [f"{scratch}/{ORDERED}/{number:05d}" for number in range(len(edges) - 1)]
    _join(files, resolved, PAPER_PIECE, folder, PAPERS)
    written = {"contexts": _join(files, ranges, "contexts.arrow", folder, CONTEXTS)}
    if bodies:
        written["sentences"] = _join(files, ranges, "sentences.arrow", folder, SENTENCES)
        np.save(folder / "sentences.indptr.npy", _indptr(degrees["sentences"]))
    linked = {name: _join_links(files, ranges, name, count, folder) for name in LINKS}
    if not sum(result["from_contexts"] for result in results):
        log.add("duplicate_citation", sum(result["links"] for result in results) - linked["cites"])
    np.save(folder / "ids.npy", survey.table.entries())
    splits = np.sum([result["splits"] for result in results], axis=0)
    return {
        "papers": count,
        "citations": linked["cites"],
        "contexts": written["contexts"],
        "sentences": written.get("sentences", 0),
        # Each pair is there in both orders.
        "cocited_pairs": linked["cocitations"] // 2,
        "splits": {name or "none": int(n) for name, n in zip(SPLITS, splits, strict=True)},
    }


def _write_survey(survey: Survey, folder: Path, split: Callable[[int], str] | None) -> None:
    hashes, rows = survey.table.arrays()
    years = np.array(survey.years, np.int16)
    arrays: dict[str, NDArray[Any]] = {
        "hashes": hashes,
        "rows": rows,
        "years": years,
        "sample": survey.sample.keys(),
    }
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    codes = None if split is None else split_codes(years, split)
    facts = {"places": [asdict(place) for place in survey.places], "codes": codes}
    (folder / "survey.json").write_text(json.dumps(facts))


def _report(
    results: Sequence[dict[str, Any]],
    files: PartFiles,
    resolved: Sequence[str],
    survey: Survey,
    log: RuleLog,
) -> None:
    """Report what the parts have found, in the order in which one process finds it."""
    unknown: dict[int, set[int]] = {}
    late: dict[int, list[tuple[int, int, int]]] = {}
    for result in results:
        for rule, count in result["counts"].items():
            log.add(rule, count)
        for block, key in result["unknown"]:
            unknown.setdefault(block, set()).add(key)
        for block, entry in result["late"]:
            late.setdefault(block, []).append(tuple(entry))
    for block in sorted({*unknown, *late}):
        keep_unknown(log, survey.sample, sorted(unknown.get(block, ())))
        keep_late(log, late.get(block, []))
    log.add("context_unknown_cited", sum(result["unknown_cited"] for result in results))
    for kind in TEXTS:
        for path in _each(files, resolved, EVENTS):
            with path.open(encoding="ascii") as lines:
                for found, rule, reason, file, line, id_ in map(json.loads, lines):
                    if found == kind:
                        log.report(rule, reason, SourcePosition(file, line), id=id_)


def _each(files: PartFiles, folders: Sequence[str], name: str) -> Iterator[Path]:
    """One file of each folder."""
    return (folder / name for folder in files.each(folders, [name]))


def _look_at(
    files: PartFiles, resolved: Sequence[str], count: int
) -> tuple[dict[str, NDArray[np.int32]], bytes]:
    """The (count,) texts of each paper by their kind, and the index of the runs of all parts."""
    degrees = {name: np.zeros(count, np.int32) for name in TEXTS}
    index = []
    for folder in files.each(resolved, [DEGREES, INDEX]):
        kinds, rows, counts = load_array(folder / DEGREES, mapped=False)
        for name, found in degrees.items():
            of_kind = kinds == KINDS.index(name)
            np.add.at(found, rows[of_kind], counts[of_kind])
        index.append((folder / INDEX).read_bytes())
    return degrees, b"".join(index)


def _edges(degrees: Mapping[str, NDArray[np.int32]], count: int) -> list[int]:
    """Where the ranges of rows begin, and the end of the last."""
    if not count:
        return [0]
    texts = degrees["contexts"].astype(np.int64) + degrees["sentences"] + 1
    # As many ranges as it takes: no file is open for each, unlike in a bucket sort.
    return [0, *bucket_limits(texts, RANGE, most=count).tolist()]


def _starts(degrees: NDArray[np.int32], edges: list[int]) -> list[int]:
    """The number of texts before each range."""
    return [int(n) for n in _indptr(degrees)[edges]]


def _indptr(degrees: NDArray[np.integer]) -> NDArray[np.int64]:
    indptr = np.zeros(len(degrees) + 1, np.int64)
    np.cumsum(degrees, out=indptr[1:])
    return indptr


def _join(files: PartFiles, folders: Sequence[str], name: str, to: Path, schema: Any) -> int:
    """Join the pieces of an Arrow file of the store, which have its name; returns its rows."""
    writer = BatchWriter(to / name, schema)
    join(_each(files, folders, name), writer)
    writer.close()
    return writer.rows


def _join_links(files: PartFiles, ranges: Sequence[str], name: str, count: int, to: Path) -> int:
    """Join the links of the ranges of rows; returns their number."""
    suffixes = ("indices", "counts") if name == "cocitations" else ("indices",)
    total = 0
    for suffix in suffixes:
        writer = NpyWriter(to / f"{name}.{suffix}.npy", np.int32)
        for path in _each(files, ranges, f"{name}.{suffix}.npy"):
            writer.write(load_array(path))
        writer.close()
        total = writer.count
    degrees = [np.empty(0, np.int64)]
    degrees += [load_array(path, mapped=False) for path in _each(files, ranges, f"{name}.degrees.npy")]
    joined = np.concatenate(degrees)
    assert len(joined) == count
    np.save(to / f"{name}.indptr.npy", _indptr(joined))
    return total
