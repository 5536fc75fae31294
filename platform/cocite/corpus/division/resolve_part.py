"""Resolves one staged part against the papers of all parts, into sorted runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.artifacts import load_array
from cocite.corpus.division.aligned import AlignedWriter
from cocite.corpus.division.runs import KINDS, PairRuns, RunFile, TextRuns, keys_of
from cocite.corpus.division.survey import PartPlace
from cocite.corpus.idtable import IdTable
from cocite.corpus.links import BLOCK
from cocite.corpus.records import CONTEXTS, PAPERS, SENTENCES, SPLITS
from cocite.corpus.resolution import Resolution, ResolvedTexts
from cocite.corpus.rule_log import LISTED
from cocite.corpus.share import Share
from cocite.corpus.share_reports import kept_links, kept_rows
from cocite.corpus.staged_parts import STAGED, read_shares, renumbered
from cocite.part_files import PartFiles

EVENTS = "events.jsonl"
"""The texts of a part that are left out: ``[kind, rule, reason, file, line, id]``."""
PAPER_PIECE = "papers.arrow"
DEGREES = "degrees.npy"
"""(3, n) int32: the kind of text, the row of a paper, and how many texts of the kind a run has of it."""
SURVEY, KEPT, RESOLVED = "survey", "kept", "resolved"
"""Folders of an import: what all parts need, what is kept of each, and the resolved parts."""


@dataclass(frozen=True)
class ResolvePart:
    """How a part is resolved.

    Attributes:
        folder: among the parts' files, of what the steps of this import write.
        parts: names of the staged parts.
        later_years: see :class:`~cocite.corpus.rules.Limits`.
        links_from_contexts: make a citation of each (citing, cited) of a context.
        bodies: keep body sentences.

    Example:
        >>> ResolvePart("divided", ("00000",), 1, False, True).shared
        'divided/survey'
    """

    folder: str
    parts: tuple[str, ...]
    later_years: int | None
    links_from_contexts: bool
    bodies: bool

    @property
    def shared(self) -> str:
        """The folder with what all parts need."""
        return f"{self.folder}/{SURVEY}"

    def open(self, shared: Path) -> Callable[[PartFiles, int], dict[str, Any]]:
        """Open what all parts need; returns what resolves a part, given by its number."""

        def load(name: str) -> NDArray[Any]:
            return np.asarray(load_array(shared / f"{name}.npy"))

        table = IdTable.of(load("hashes"), load("rows"))
        resolution = Resolution(table, load("years"), self.later_years)
        facts = json.loads((shared / "survey.json").read_text())

        def make(files: PartFiles, number: int) -> dict[str, Any]:
            staged = files.read(f"{STAGED}/{self.parts[number]}")
            kept = files.read(f"{self.folder}/{KEPT}/{number:05d}")
            place = PartPlace(**facts["places"][number])
            with files.write(f"{self.folder}/{RESOLVED}/{number:05d}") as to:
                part = _Part(self, staged, kept, to, number, place, facts["codes"])
                return part.resolve(resolution, load("sample"))

        return make


@dataclass
class _LinkReport:
    """What the import's log is to hear of a part's links, by blocks of the links of the whole source."""

    counts: dict[str, int] = field(default_factory=dict)
    unknown: list[tuple[int, int]] = field(default_factory=list)
    late: list[tuple[int, tuple[int, int, int]]] = field(default_factory=list)


class _Part:
    def __init__(
        self,
        step: ResolvePart,
        staged: Path,
        kept: Path,
        to: Path,
        number: int,
        place: PartPlace,
        codes: dict[str, int] | None,
    ) -> None:
        self.step, self.staged, self.to, self.place = step, staged, to, place
        # Where all of the part's papers and contexts are kept, there is no such folder, or an empty one.
        self.kept = {
            name: load_array(path, mapped=False) if (path := kept / f"{name}.npy").exists() else None
            for name in ("papers", "contexts")
        }
        self.codes = None if codes is None else _lookup(codes)
        self.papers = AlignedWriter(to / PAPER_PIECE, PAPERS, place.papers)
        self.splits = np.zeros(len(SPLITS), np.int64)
        self.report = _LinkReport()
        self.at_link = place.links
        self.runs = RunFile(to, number)
        self.cites, self.cited_by = PairRuns(self.runs, "cites"), PairRuns(self.runs, "cited_by")
        self.together = PairRuns(self.runs, "cocitations", counted=True)
        self.texts = {
            "contexts": TextRuns(self.runs, "contexts", CONTEXTS),
            "sentences": TextRuns(self.runs, "sentences", SENTENCES, ties="position"),
        }
        self.links = self.from_contexts = self.unknown_cited = 0

    def resolve(self, resolution: Resolution, sample: NDArray[np.uint64]) -> dict[str, Any]:
        with (self.to / EVENTS).open("w", encoding="ascii") as events:
            for share, new, new_context in self._shares():
                tables = share.tables
                self._papers(kept_rows(tables["papers"], new))
                self._links(kept_rows(tables["links"], kept_links(tables["links"], new)), resolution, sample)
                contexts = kept_rows(tables["contexts"], new_context)
                if contexts.num_rows:
                    self._contexts(contexts, share, resolution, events)
                if self.step.bodies and tables["sentences"].num_rows:
                    batch = tables["sentences"]
                    self._texts("sentences", batch, share, resolution.sentences(batch), events)
        for pairs in (self.cites, self.cited_by, self.together):
            pairs.flush()
        for texts in self.texts.values():
            texts.flush()
        self.runs.close()
        self.papers.close()
        np.save(self.to / DEGREES, self._degrees())
        return {
            "links": self.links,
            "from_contexts": self.from_contexts,
            "counts": self.report.counts,
            "unknown": sorted(set(self.report.unknown)),
            "late": self.report.late,
            "unknown_cited": self.unknown_cited,
            "splits": self.splits.tolist(),
        }

    def _degrees(self) -> NDArray[np.int32]:
        found = [np.empty((3, 0), np.int32)]
        for kind, texts in self.texts.items():
            for rows, counts in texts.degrees:
                found.append(np.stack([np.full(len(rows), KINDS.index(kind)), rows, counts]).astype(np.int32))
        return np.concatenate(found, axis=1)

    def _shares(self) -> Iterator[tuple[Share, NDArray[np.bool_], NDArray[np.bool_]]]:
        """The shares, and which of their papers and contexts are kept."""
        at = {"papers": 0, "contexts": 0}
        for share in read_shares(self.staged, mapped=True):
            masks = []
            for name in ("papers", "contexts"):
                count, kept = share.tables[name].num_rows, self.kept[name]
                first = at[name]
                masks.append(np.ones(count, bool) if kept is None else kept[first : first + count])
                at[name] = first + count
            yield share, masks[0], masks[1]

    def _papers(self, papers: pa.RecordBatch) -> None:
        columns = papers.select(PAPERS.names)
        if self.codes is not None:
            years, codes = self.codes
            split = pa.array(codes[np.searchsorted(years, papers["year"].to_numpy())], pa.int8())
            columns = columns.set_column(PAPERS.get_field_index("split"), PAPERS.field("split"), split)
        self.splits += np.bincount(columns["split"].to_numpy(), minlength=len(SPLITS))
        self.papers.write(columns)

    def _links(self, links: pa.RecordBatch, resolution: Resolution, sample: NDArray[np.uint64]) -> None:
        cited = links["cited"].flatten().to_numpy()
        sizes = links["cited"].value_lengths().to_numpy(zero_copy_only=False)
        found = resolution.links(np.repeat(links["citing"].to_numpy(), sizes), cited)
        report = self.report
        for rule, count in found.counts.items():
            report.counts[rule] = report.counts.get(rule, 0) + count
        block = (self.at_link + np.arange(len(cited))) // BLOCK
        named = found.unknown_at
        if len(found.unknown):
            named = named & np.isin(cited, sample)
        report.unknown += zip(block[named].tolist(), cited[named].tolist(), strict=True)
        room = LISTED - len(report.late)
        report.late += list(zip(block[found.late_at[:room]].tolist(), found.late[:room], strict=True))
        self.at_link += len(cited)
        self.links += len(found.pairs[0])
        self._pairs(*found.pairs)

    def _pairs(self, citing: NDArray[np.int32], cited: NDArray[np.int32]) -> None:
        self.cites.add(keys_of(citing, cited))
        self.cited_by.add(keys_of(cited, citing))

    def _contexts(self, contexts: pa.RecordBatch, share: Share, resolution: Resolution, events: Any) -> None:
        contexts = renumbered(contexts, self.place.numbers)
        found = resolution.contexts(contexts)
        self.unknown_cited += found.unknown_cited
        if self.step.links_from_contexts:
            self.from_contexts += len(found.links[0])
            self._pairs(*found.links)
        self.together.add(keys_of(*found.together))
        self._texts("contexts", contexts, share, found, events)

    def _texts(
        self, kind: str, batch: pa.RecordBatch, share: Share, found: ResolvedTexts, events: Any
    ) -> None:
        self.texts[kind].add(found.rows, found.batch)
        for i, (rule, reason) in sorted(found.faults.items()):
            file, line = share.files[batch["file"][i].as_py()], batch["line"][i].as_py() + self.place.lines
            id_ = batch["id"][i].as_py() if kind == "contexts" else ""
            events.write(json.dumps([kind, rule, reason, file, line, id_]) + "\n")


def _lookup(codes: dict[str, int]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Years, ascending, and the code of the split of each."""
    years = sorted(map(int, codes))
    return np.array(years, np.int64), np.array([codes[str(year)] for year in years], np.int8)
