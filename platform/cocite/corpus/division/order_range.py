"""Merges what the runs of all parts hold of a range of rows: its links in order, and its texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.division.aligned import AlignedWriter
from cocite.corpus.division.runs import read_pairs, read_texts
from cocite.corpus.records import CONTEXTS, SENTENCES
from cocite.temporary import temporary_beside

LINKS = ("cites", "cited_by", "cocitations")
"""The links of a store, by the beginning of their files' names."""
PLAN = "ranges.json"
TEXTS = {"contexts": (CONTEXTS, None), "sentences": (SENTENCES, "position")}
"""Kind of text -> its columns in the store, and the one that orders the texts of a paper."""


@dataclass(frozen=True)
class OrderRange:
    """How a range of rows is put in order.

    Attributes:
        resolved: the folder of the resolved parts.
        parts: number of parts.
        to: for the ranges' folders; it holds ``PLAN``.
        bodies: keep body sentences.

    Example:
        >>> OrderRange(Path("resolved"), 7, Path("ordered"), bodies=True).parts
        7
    """

    resolved: Path
    parts: int
    to: Path
    bodies: bool

    def open(self) -> Callable[[int], dict[str, Any]]:
        """Read the plan; returns what puts a range in order, given by its number."""
        plan = json.loads((self.to / PLAN).read_text())
        folders = [self.resolved / f"{number:05d}" for number in range(self.parts)]

        def make(number: int) -> dict[str, Any]:
            folder = self.to / f"{number:05d}"
            with temporary_beside(folder, folder=True) as temporary:
                first, last = plan["limits"][number], plan["limits"][number + 1]
                for name in LINKS:
                    _write_links(folders, name, first, last, temporary)
                for name, (schema, ties) in TEXTS.items():
                    if name == "sentences" and not self.bodies:
                        continue
                    writer = AlignedWriter(temporary / f"{name}.arrow", schema, plan[name][number])
                    for batch in read_texts(folders, name, first, last, ties=ties):
                        writer.write(batch)
                    writer.close()
                if folder.exists():
                    shutil.rmtree(folder)
                temporary.rename(folder)
            return {}

        return make


def _write_links(folders: list[Path], name: str, first: int, last: int, to: Path) -> None:
    """Write the entries and the degrees of a range of rows, and the counts of co-citations."""
    counted = name == "cocitations"
    keys, counts = read_pairs(folders, name, first << 32, last << 32, counted=counted)
    entries: NDArray[np.int32] = (keys & 0xFFFFFFFF).astype(np.int32)
    np.save(to / f"{name}.indices.npy", entries)
    np.save(to / f"{name}.degrees.npy", np.bincount((keys >> 32) - first, minlength=last - first))
    if counted:
        np.save(to / f"{name}.counts.npy", counts.astype(np.int32))
