"""Parts of rankings whose worker dies, or makes only some, for tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from cocite_jobs.steps.parts import Part, Result
from cocite_jobs.steps.ranking.rank_file import RankQueries
from cocite_jobs.steps.ranking.rank_task import RankTask
from helpers.killed_driver import held


def dying(make: Callable[[Part], Result], died: Path) -> Callable[[Part], Result]:
    """What kills its process once, when it has part 1 to rank."""

    def make_or_die(part: Part) -> Result:
        if part.name == "000001" and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return make(part)

    return make_or_die


class DyingRankQueries(RankQueries):
    """Kills its process once."""

    def open(self) -> Callable[[Part], Result]:
        return dying(super().open(), Path(self.to.path).parent / "died")


class DyingRankTask(RankTask):
    """Kills its process once."""

    def open(self) -> Callable[[Part], Result]:
        return dying(super().open(), Path(self.to.path).parents[1] / "died")


class HeldRankQueries(RankQueries):
    """Makes so many parts as the test wants, and no more."""

    def open(self) -> Callable[[Part], Result]:
        return held(super().open())
