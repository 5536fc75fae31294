"""The settings of the study of Citeomatic's K."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import ConfigError
from cocite_tuning.studies.neighbours_settings import NeighboursStudySettings


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=30))
def test_choices_are_ascending_and_distinct(values: list[int]) -> None:
    assert NeighboursStudySettings.parse({"neighbours": values}).neighbours == tuple(sorted(set(values)))


@pytest.mark.parametrize("wrong", [{"neighbours": []}, {"neighbours": [0]}, {"neighbours": [10_001]}])
def test_no_choice_and_impossible_ones_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="neighbours"):
        NeighboursStudySettings.parse(wrong)


def test_whole_papers_ask_and_a_model_folder_is_needed() -> None:
    settings = NeighboursStudySettings()
    assert (settings.task, settings.model) == ("global", Path("model"))
