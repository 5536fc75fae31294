"""The record of a trained NNRank: below NNSelect it is left out of all, below the first stage it does not order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cocite.pipeline import nnrank_comparison
from cocite.pipeline.nnrank_comparison import nnrank_record
from cocite.training.stages import StageComparison, compare_stages, query_values


def comparison(before: str, kind: str, *, below: bool) -> StageComparison:
    """Forty queries whose cited paper is first by the better order and third by the other."""
    best, third = (np.tile(np.arange(5) == place, (40, 1)) for place in (0, 2))
    counts, papers = np.ones(40, np.int32), np.arange(40)
    new, old = (third, best) if below else (best, third)
    return compare_stages(
        "nnrank", before, kind, query_values(new, counts), query_values(old, counts), papers
    )


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The record of comparisons that come out as told."""

    def make(*, nnselect: bool, local: bool, keep: str = "unless_below") -> dict[str, Any]:
        over_first = [
            comparison("first-stage", "local", below=local),
            comparison("first-stage", "global", below=False),
        ]
        monkeypatch.setattr(
            nnrank_comparison, "_over_nnselect", lambda task: comparison("nnselect", "global", below=nnselect)
        )
        monkeypatch.setattr(nnrank_comparison, "_over_first_stage", lambda task, encoder: over_first)
        return nnrank_record(None, None, keep)  # type: ignore[arg-type]

    return make


def test_below_nnselect_nothing_reads_its_score(record: Any) -> None:
    found = record(nnselect=True, local=False)
    assert list(found["left_out"]) == ["all"]
    assert "it is left out of the pipeline" in found["left_out"]["all"]
    assert [stage["before"] for stage in found["stages"]] == ["nnselect"], "the first stage is not asked"


def test_below_the_first_stage_of_a_kind_it_is_a_signal_alone(record: Any) -> None:
    found = record(nnselect=False, local=True)
    assert list(found["left_out"]) == ["local"]
    assert "or by a learned fusion, which weighs nnrank's score" in found["left_out"]["local"]
    assert [(stage["before"], stage["kind"]) for stage in found["stages"]] == [
        ("nnselect", "global"),
        ("first-stage", "local"),
        ("first-stage", "global"),
    ]
    assert len(found["notes"]) == 3


@pytest.mark.parametrize("nnselect", [True, False])
def test_nothing_is_left_out_where_the_recipe_keeps_it(record: Any, nnselect: bool) -> None:
    found = record(nnselect=nnselect, local=True, keep="always")
    assert found["left_out"] == {}
    assert any("it is kept all the same" in note for note in found["notes"])


def test_above_both_it_orders_every_kind(record: Any) -> None:
    found = record(nnselect=False, local=False)
    assert found["left_out"] == {}
    assert all(not stage["below"] for stage in found["stages"])
