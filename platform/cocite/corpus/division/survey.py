"""Looks at all staged parts: gives rows to their papers, finds repeated ids, and reports the hits of rules."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.corpus.citation_sample import CitationSample
from cocite.corpus.idtable import HashSet, IdTable
from cocite.corpus.records import SPLITS
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.share_reports import kept_links, kept_rows, report_share, sample_citations
from cocite.corpus.staged_parts import (
    CONTEXT_IDS,
    KEYS,
    SURVEYED,
    StagedParts,
    failure_of,
    read_shares,
)

LONGEST_NUMBER = len(str((1 << 63) - 1))


@dataclass(frozen=True)
class PartPlace:
    """Where a part stands in the whole source.

    Attributes:
        lines: of its file before it.
        numbers: contexts without an id before it.
        papers: that are kept, before it.
        links: that its predecessors' kept papers and citation records give.

    Example:
        >>> PartPlace(lines=7, numbers=0, papers=3, links=9).papers
        3
    """

    lines: int
    numbers: int
    papers: int
    links: int


@dataclass
class Survey:
    """What is known once all parts were looked at.

    Attributes:
        table: the ids of the papers, in one run.
        years: of the papers.
        places: of the parts.
        links: of all parts.
        sample: of the citations.

    Example:
        >>> Survey().links
        0
    """

    table: IdTable = field(default_factory=IdTable)
    years: array[int] = field(default_factory=lambda: array("h"))
    places: list[PartPlace] = field(default_factory=list)
    links: int = 0
    sample: CitationSample = field(default_factory=CitationSample)


def can_be_divided(parts: StagedParts, longest: int) -> bool:
    """Whether further steps are made side by side, and the ids of contexts can be compared apart from each other.

    An id that is made of a number is unique among those, but what it is depends on all parts before; so a source that
    gives some contexts an id and others none is put together by one process.

    Args:
        parts: the staged parts.
        longest: characters of an id, at most.
    """
    if parts.run is None or not parts.names:
        return False
    numbered = [part for part in parts.staged if part.numbers]
    fits = all(part.longest + LONGEST_NUMBER <= longest for part in numbered)
    return not numbered or (fits and not any(part.named for part in parts.staged))


def survey_parts(parts: StagedParts, to: str, log: RuleLog) -> Survey:
    """Look at all parts in the order of the source.

    Args:
        parts: the staged parts.
        to: folder among the parts' files that is given, for each part with repeated ids, which of its papers and
            contexts are kept.
        log: receives the hits of rules.

    Raises:
        InputError: the source turned out to be damaged, or a record breaks a rule of a strict import.
    """
    found = Survey()
    contexts = HashSet()
    lines = numbers = 0
    for number, (folder, part, staged) in enumerate(
        zip(parts.folders(SURVEYED), parts.parts, parts.staged, strict=True)
    ):
        lines = lines if part.continues else 0
        found.places.append(PartPlace(lines, numbers, len(found.table), found.links))
        kept = _survey_part(folder, lines, numbers, found, contexts, log)
        if not all(mask.all() for mask in kept.values()):
            with parts.files.write(f"{to}/{number:05d}") as folder_of_kept:
                for name, mask in kept.items():
                    np.save(folder_of_kept / f"{name}.npy", mask)
        if staged.failed:
            raise failure_of(staged)
        lines += staged.lines
        numbers += staged.numbers
    found.table.compact()
    return found


def _survey_part(
    folder: Path, lines: int, numbers: int, found: Survey, contexts: HashSet, log: RuleLog
) -> dict[str, NDArray[np.bool_]]:
    """Look at a part; returns which of its papers and contexts are kept."""
    shares = list(read_shares(folder, mapped=True, files=KEYS))
    papers = [share.tables["papers"] for share in shares]
    is_new = found.table.add_hashed(
        _joined(papers, "hash", np.uint64),
        _joined(papers, "check", np.uint32),
        lambda: [id_ for batch in papers for id_ in batch["id"].to_pylist()],
    )
    years = _joined(papers, "year", np.int16)
    found.years.frombytes(np.ascontiguousarray(years[is_new]).tobytes())
    ids = load_array(folder / CONTEXT_IDS, mapped=False)
    count = sum(share.tables["contexts"].num_rows for share in shares)
    is_new_context = contexts.add(ids) if len(ids) else np.ones(count, bool)
    at = at_context = 0
    for share in shares:
        new = is_new[at : at + share.tables["papers"].num_rows]
        count = share.tables["contexts"].num_rows
        new_context = is_new_context[at_context : at_context + count]
        at, at_context = at + len(new), at_context + count
        for hit in share.hits:
            hit.moved(lines, numbers)
        report_share(share, new, new_context, log, lines)
        links = kept_rows(share.tables["links"], kept_links(share.tables["links"], new))
        sample_citations(found.sample, links, share.files, lines)
        found.links += len(links["cited"].flatten())
    return {"papers": is_new, "contexts": is_new_context}


def _joined(batches: list[pa.RecordBatch], name: str, dtype: type) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *(batch[name].to_numpy() for batch in batches)])


def split_codes(years: NDArray[np.int16], split: Callable[[int], str]) -> dict[str, int]:
    """The code of the split of each year that a paper has; of JSON's types."""
    return {str(year): SPLITS.index(split(year)) for year in np.unique(years).tolist()}
