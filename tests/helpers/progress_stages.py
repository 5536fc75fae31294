"""Records the stages that a command shows on its progress bars."""

from __future__ import annotations

import pytest

from cocite.progress_bars import StagedBars


def record_stages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The names and totals of the stages that begin from now on; the list grows as they do."""
    stages: list[tuple[str, int]] = []
    begin = StagedBars.stage

    def stage(self: StagedBars, name: str, total: int) -> None:
        stages.append((name, total))
        begin(self, name, total)

    monkeypatch.setattr(StagedBars, "stage", stage)
    return stages
