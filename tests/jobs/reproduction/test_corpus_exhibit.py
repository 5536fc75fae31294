from __future__ import annotations

import pytest

from cocite_jobs.reproduction.corpus_exhibit import corpus_exhibit
from cocite_jobs.reproduction.papers import PAPERS
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.published import published_numbers


@pytest.mark.parametrize("paper", PAPERS)
def test_every_statistic_of_the_paper_is_counted_under_its_name(empty_setup: Setup, paper: str) -> None:
    exhibit = corpus_exhibit(empty_setup, paper)
    ours = [row[0] for row in exhibit.make(empty_setup).rows]
    theirs = dict.fromkeys(number.row for number in published_numbers(paper) if number.table == "table1")
    assert ours == list(theirs)
    assert exhibit.needs == ()
    assert f"reproduce {paper} --size toy --only table1" in exhibit.command
