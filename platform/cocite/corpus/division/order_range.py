"""Merges what the runs of all parts hold of a range of rows: its links in order, and its texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.division.aligned import AlignedWriter
from cocite.corpus.division.resolve_part import RESOLVED
from cocite.corpus.division.runs import Runs, read_index
from cocite.corpus.records import CONTEXTS, SENTENCES
from cocite.part_files import PartFiles

LINKS = ("cites", "cited_by", "cocitations")
"""The links of a store, by the beginning of their files' names."""
PLAN, ORDERED = "plan", "ordered"
"""Folders of an import: what all ranges need, and the ranges."""
RANGES = "ranges.json"
TEXTS = {"contexts": (CONTEXTS, None), "sentences": (SENTENCES, "position")}
"""Kind of text -> its columns in the store, and the one that orders the texts of a paper."""


@dataclass(frozen=True)
class OrderRange:
    """How a range of rows is put in order.

    Attributes:
        folder: among the parts' files, of what the steps of this import write.
        bodies: keep body sentences.

    Example:
        >>> OrderRange("divided", bodies=True).shared
        'divided/plan'
    """

    folder: str
    bodies: bool

    @property
    def shared(self) -> str:
        """The folder with what all ranges need: where they begin, and the index of all parts' runs."""
        return f"{self.folder}/{PLAN}"

    def open(self, shared: Path) -> Callable[[PartFiles, int], dict[str, Any]]:
        """Read the plan; returns what puts a range in order, given by its number."""
        plan, index = json.loads((shared / RANGES).read_text()), read_index(shared)

        def make(files: PartFiles, number: int) -> dict[str, Any]:
            runs = Runs(files, f"{self.folder}/{RESOLVED}", index)
            first, last = plan["limits"][number], plan["limits"][number + 1]
            with files.write(f"{self.folder}/{ORDERED}/{number:05d}") as to:
                for name in LINKS:
                    _write_links(runs, name, first, last, to)
                for name, (schema, ties) in TEXTS.items():
                    if name == "sentences" and not self.bodies:
                        continue
                    writer = AlignedWriter(to / f"{name}.arrow", schema, plan[name][number])
                    for batch in runs.texts(name, schema, first, last, ties=ties):
                        writer.write(batch)
                    writer.close()
            return {}

        return make


def _write_links(runs: Runs, name: str, first: int, last: int, to: Path) -> None:
    """Write the entries and the degrees of a range of rows, and the counts of co-citations."""
    counted = name == "cocitations"
    keys, counts = runs.pairs(name, first << 32, last << 32, counted=counted)
    entries: NDArray[np.int32] = (keys & 0xFFFFFFFF).astype(np.int32)
    np.save(to / f"{name}.indices.npy", entries)
    np.save(to / f"{name}.degrees.npy", np.bincount((keys >> 32) - first, minlength=last - first))
    if counted:
        np.save(to / f"{name}.counts.npy", counts.astype(np.int32))
