"""Parts of rankings and of index builds that write down which GPUs their worker sees, as CUDA reads it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite_jobs.steps.indexing.shard_parts import ShardParts
from cocite_jobs.steps.parts import Part, Result
from cocite_jobs.steps.ranking.rank_file import RankQueries
from cocite_jobs.steps.ranking.rank_task import RankTask

SEEN = "seen"
"""Beginning of the names of the files, which lie in the folder of the step's output."""


def seen_here(_: object = None) -> str:
    """What this process sees."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "all")


def note(folder: Path, part: Part) -> None:
    """Write down what this process sees."""
    (folder / f"{SEEN}-{part.name}").write_text(seen_here())


def seen(folder: Path, step: str = "") -> set[str]:
    """What the parts of a step saw; the files are removed."""
    files = list(folder.glob(f"{SEEN}-{step}*"))
    found = {file.read_text() for file in files}
    for file in files:
        file.unlink()
    return found


def noting(make: Callable[[Part], Result], folder: Path) -> Callable[[Part], Result]:
    """What writes down what it sees, and makes the part."""

    def note_and_make(part: Part) -> Result:
        note(folder, part)
        return make(part)

    return note_and_make


class NotingRankQueries(RankQueries):
    """Parts of a file's ranking."""

    def open(self) -> Callable[[Part], Result]:
        return noting(super().open(), Path(self.to.path).parent)


class NotingRankTask(RankTask):
    """Parts of an evaluation's ranking."""

    def open(self) -> Callable[[Part], Result]:
        return noting(super().open(), Path(self.to.path).parents[1])


@dataclass(frozen=True)
class NotingShardParts(ShardParts):
    """Parts of an index."""

    def _make(self, plan: Any, load: Callable[..., Any], part: Part) -> dict[str, Any]:
        note(Path(self.files.path).parent, part)
        return super()._make(plan, load, part)
