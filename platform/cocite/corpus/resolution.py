"""Resolves ids of papers to rows, and applies the rules that need all papers: which links and texts are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.citation_sample import CitationSample
from cocite.corpus.cocitation import ordered_pairs
from cocite.corpus.csr import CSR
from cocite.corpus.idtable import IdTable
from cocite.corpus.records import CONTEXTS, SENTENCES
from cocite.corpus.rule_log import RuleLog

Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]


def _no_pairs() -> Pairs:
    return np.empty(0, np.int32), np.empty(0, np.int32)


@dataclass
class ResolvedLinks:
    """Links by rows, and what the rules left out.

    Attributes:
        pairs: citing and cited row of those that are kept.
        unknown: hashes of the cited ids that no paper has, ascending and distinct.
        counts: hits by rule.
        late: (years ahead, citing row, cited row) of the links that point too far into the future.
        late_at: the position of each of these among the links.
        unknown_at: (links,) whether a link is to an unknown paper.

    Example:
        >>> ResolvedLinks(pairs=(np.array([1]), np.array([0]))).counts
        {}
    """

    pairs: Pairs
    unknown: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    counts: dict[str, int] = field(default_factory=dict)
    late: list[tuple[int, int, int]] = field(default_factory=list)
    late_at: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    unknown_at: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))


@dataclass
class ResolvedTexts:
    """Contexts or sentences as the store holds them.

    Attributes:
        rows: (n,) of their papers.
        batch: the columns of the store.
        faults: position of each text that is left out -> its rule and the reason.
        unknown_cited: members of groups of citations that no paper has.
        links: citing and cited row of each member of each context.
        together: rows of papers that one context cites, each pair in both orders.

    Example:
        >>> texts = ResolvedTexts(np.empty(0, np.int32), pa.RecordBatch.from_pylist([], schema=SENTENCES))
        >>> texts.faults, texts.unknown_cited
        ({}, 0)
    """

    rows: NDArray[np.int32]
    batch: pa.RecordBatch
    faults: dict[int, tuple[str, str]] = field(default_factory=dict)
    unknown_cited: int = 0
    links: Pairs = field(default_factory=_no_pairs)
    together: Pairs = field(default_factory=_no_pairs)


@dataclass(frozen=True)
class Resolution:
    """The papers of a store, against which links and texts are resolved.

    Attributes:
        table: the papers' ids.
        years: (N,) int16, 0 for unknown.
        later_years: a link to a paper more than so many years later is dropped; None: none is.
        old_papers: rows below it were there before; texts of theirs are left out.

    Example:
        >>> table = IdTable()
        >>> _ = table.add(["a", "b"])
        >>> resolution = Resolution(table, np.array([1990, 2000], np.int16), later_years=1)
        >>> links = resolution.links(IdTable.hashes(["b", "a", "a"]), IdTable.hashes(["a", "b", "?"]))
        >>> links.pairs[0].tolist(), links.late, links.counts["unknown_citation"]
        ([1], [(10, 0, 1)], 1)
    """

    table: IdTable
    years: NDArray[np.int16]
    later_years: int | None
    old_papers: int = 0

    def links(self, citing_ids: NDArray[np.uint64], cited_ids: NDArray[np.uint64]) -> ResolvedLinks:
        """Resolve links, given by the hashes of the ids."""
        citing, cited = self.table.find(citing_ids), self.table.find(cited_ids)
        unknown = (citing >= 0) & (cited < 0)
        at = np.flatnonzero((citing >= 0) & (cited >= 0) & (citing != cited))
        citing, cited, missing = citing[at], cited[at], int((citing < 0).sum())
        ahead = self._years_ahead(citing, cited)
        late = self._is_late(ahead)
        counts = {
            "unknown_citing": missing,
            "unknown_citation": int(unknown.sum()),
            "next_year_citation": int(((ahead > 0) & ~late).sum()),
            "later_citation": int(late.sum()),
        }
        which = zip(ahead[late].tolist(), citing[late].tolist(), cited[late].tolist(), strict=True)
        keys = np.unique(cited_ids[unknown])
        return ResolvedLinks((citing[~late], cited[~late]), keys, counts, list(which), at[late], unknown)

    def contexts(self, batch: pa.RecordBatch) -> ResolvedTexts:
        """Resolve contexts, given by the columns of ``CONTEXT_SPILL``."""
        rows = self.table.find(batch.column("citing").to_numpy())
        keep, faults = self._of_new_papers(rows, "context")
        cited = batch.column("cited")
        members = self.table.find(cited.flatten().to_numpy())
        sizes = cited.value_lengths().to_numpy()
        owner = np.repeat(np.arange(batch.num_rows), sizes)
        known = members >= 0
        missing = np.bincount(owner[~known & keep[owner]], minlength=batch.num_rows)
        good = known & keep[owner]
        good[good] &= ~self._is_late(self._years_ahead(rows[owner[good]], members[good]))
        groups = CSR.build(owner[good], members[good], batch.num_rows)
        empty = keep & (groups.degrees == 0)
        empty_fault = ("context_without_cited", "none of its cited papers can be kept")
        faults |= dict.fromkeys(np.flatnonzero(empty).tolist(), empty_fault)
        keep &= ~empty
        chosen = np.flatnonzero(keep)
        owner, members = groups.gather(chosen)
        kept = CSR(np.concatenate([[0], np.cumsum(groups.degrees[chosen], dtype=np.int64)]), members)
        part = batch if keep.all() else batch.take(pa.array(chosen))
        unresolved = np.minimum(
            part.column("unresolved").to_numpy() + missing[chosen], np.iinfo(np.int32).max
        )
        columns = {
            "citing": pa.array(rows[chosen], pa.int32()),
            "cited": pa.ListArray.from_arrays(
                pa.array(kept.indptr, pa.int32()), pa.array(members, pa.int32())
            ),
            "unresolved": pa.array(unresolved, pa.int32()),
        }
        made = [columns[name] if name in columns else part.column(name) for name in CONTEXTS.names]
        return ResolvedTexts(
            rows[chosen],
            pa.RecordBatch.from_arrays(made, schema=CONTEXTS),
            faults,
            int(missing.sum()),
            (rows[chosen][owner], members),
            ordered_pairs(kept),
        )

    def sentences(self, batch: pa.RecordBatch) -> ResolvedTexts:
        """Resolve sentences, given by the columns of ``SENTENCE_SPILL``."""
        rows = self.table.find(batch.column("paper").to_numpy())
        keep, faults = self._of_new_papers(rows, "sentence")
        part = batch.select(SENTENCES.names)
        if not keep.all():
            rows, part = rows[keep], part.filter(pa.array(keep))
        return ResolvedTexts(rows, part, faults)

    def _years_ahead(self, citing: NDArray[np.int32], cited: NDArray[np.int32]) -> NDArray[np.int32]:
        """How much later the cited papers are; 0 where a year is unknown."""
        ahead = self.years[cited].astype(np.int32) - self.years[citing]
        ahead[(self.years[citing] == 0) | (self.years[cited] == 0)] = 0
        return ahead

    def _is_late(self, ahead: NDArray[np.int32]) -> NDArray[np.bool_]:
        return ahead > self.later_years if self.later_years is not None else np.zeros(len(ahead), bool)

    def _of_new_papers(
        self, rows: NDArray[np.int32], kind: str
    ) -> tuple[NDArray[np.bool_], dict[int, tuple[str, str]]]:
        """Mark the texts that belong to a new paper of this build, and give the others' rules and reasons."""
        old = (rows >= 0) & (rows < self.old_papers)
        unknown_fault = (f"{kind}_of_unknown_paper", "its paper is not in the source")
        old_fault = (f"{kind}_of_old_paper", "its paper was there before; import the corpus again")
        faults = dict.fromkeys(np.flatnonzero(rows < 0).tolist(), unknown_fault)
        return np.asarray(rows >= self.old_papers), faults | dict.fromkeys(
            np.flatnonzero(old).tolist(), old_fault
        )


def keep_unknown(log: RuleLog, sample: CitationSample, keys: Sequence[int]) -> None:
    """Keep a hit for each cited id that no paper has and that the sample can name.

    Args:
        log: of the import.
        sample: of the citations; an id that is kept leaves it.
        keys: hashes of such ids.
    """
    for key in keys:
        sampled = sample.pop(key)
        if sampled is not None:
            entry: dict[str, object] = {
                "rule": "unknown_citation",
                "reason": "the cited paper is not in the source",
            }
            entry |= {"file": sampled.file, "line": sampled.line} if sampled.file else {}
            log.keep("unknown_citation", entry | {"citing": sampled.citing, "cited": sampled.cited})


def keep_late(log: RuleLog, late: Sequence[tuple[int, int, int]]) -> None:
    """Keep the hits of links to later papers, as (years ahead, citing row, cited row), as far as there is room."""
    for ahead, citing, cited in late[: log.room("later_citation")]:
        log.keep(
            "later_citation",
            {
                "rule": "later_citation",
                "reason": f"the cited paper is {ahead} years later than the citing one",
                "citing_row": citing,
                "cited_row": cited,
            },
        )
