"""The settings of the study of the numbers of candidates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import ConfigError
from cocite_tuning.studies.depths_settings import DepthsStudySettings


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_choices_are_ascending_and_distinct(values: list[int]) -> None:
    settings = DepthsStudySettings.parse({"depths": values, "reranks": values})
    assert settings.depths == settings.reranks == tuple(sorted(set(values)))


@pytest.mark.parametrize("wrong", [{"depths": []}, {"depths": [0]}, {"reranks": [-1]}, {"timed": 0}])
def test_no_choice_and_impossible_ones_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        DepthsStudySettings.parse(wrong)


def test_not_reranking_is_a_choice() -> None:
    assert DepthsStudySettings(reranks=(0,)).reranks == (0,)
