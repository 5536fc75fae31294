from __future__ import annotations

from dataclasses import replace

import pytest

from cocite.errors import InputError
from cocite_jobs.reproduction.papers import PAPERS, plan_of, require_paper
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.published import published_numbers


def test_a_paper_that_is_not_there_is_refused(empty_setup: Setup) -> None:
    with pytest.raises(InputError, match=r"PAPER: no paper is called 'hattn' \(did you mean 'hatten'"):
        require_paper("hattn")
    with pytest.raises(InputError, match="no paper is called 'os'"):
        plan_of("os", empty_setup)


def test_several_encoders_are_for_the_papers_that_compare_them(empty_setup: Setup) -> None:
    several = replace(empty_setup, encoder="a", more_encoders=("b",))
    for name in ("nogueira", "hatten", "mp-bert4cr"):
        assert plan_of(name, several).paper == name
    with pytest.raises(
        InputError,
        match=r"--encoder: citeomatic compares no encoders, and 2 are named \(name one; nogueira, hatten and mp-",
    ):
        plan_of("citeomatic", several)
    with pytest.raises(InputError, match="'a' is named twice"):
        plan_of("nogueira", replace(several, more_encoders=("b", "a")))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_number_of_a_paper_has_an_exhibit(empty_setup: Setup, paper: str) -> None:
    ids = {exhibit.id for exhibit in plan_of(paper, empty_setup).exhibits}
    assert {number.table for number in published_numbers(paper)} <= ids
