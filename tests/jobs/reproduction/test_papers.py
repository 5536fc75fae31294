from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

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


PRINTED = {
    "citeomatic": {"table": 10, "figure": 4},
    "nogueira": {"table": 4, "figure": 1},
    "hatten": {"table": 4, "figure": 4},
    "mp-bert4cr": {"table": 4, "figure": 3},
}
"""How many tables and figures each paper has."""
PAGE = (Path(__file__).parents[3] / "docs" / "papers.md").read_text(encoding="utf-8")


def numbered(texts: Iterable[str]) -> set[tuple[str, int]]:
    """The tables and figures that stand at the beginning of some texts, as ``Table 3: …`` and ``Figures 1 to 3``."""
    found = set()
    for text in texts:
        for kind, first, last in re.findall(r"^(Table|Figure)s? (\d+)(?: (?:to|and) (\d+))?", text):
            found |= {(kind.lower(), number) for number in range(int(first), int(last or first) + 1)}
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_is_made_or_why_not_is_said(empty_setup: Setup, paper: str) -> None:
    every = {(kind, i + 1) for kind, count in PRINTED[paper].items() for i in range(count)}
    plan = plan_of(paper, empty_setup)
    made, not_made = numbered(exhibit.title for exhibit in plan.exhibits), numbered(plan.impossible)
    assert made | not_made == every
    assert not made & not_made
    [item] = re.findall(rf"^- `{paper}`: (.*?)\n(?=- `|\n)", PAGE, re.MULTILINE | re.DOTALL)
    for exhibit in plan.exhibits:
        assert f"`{exhibit.id}`" in item, "docs/papers.md lists it"
    for label in plan.impossible:
        assert label in " ".join(item.split()) or not numbered([label]), "docs/papers.md says why not"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_number_of_a_paper_has_an_exhibit(empty_setup: Setup, paper: str) -> None:
    ids = {exhibit.id for exhibit in plan_of(paper, empty_setup).exhibits}
    assert {number.table for number in published_numbers(paper)} <= ids
