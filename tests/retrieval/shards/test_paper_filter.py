"""Filters say which papers may be retrieved, for all papers of a shard or for some."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cocite.retrieval.shards.paper_filter import EVERYTHING, PaperFilter

YEARS = st.one_of(st.none(), st.integers(1990, 2005))


@given(
    years=st.lists(st.sampled_from([0, *range(1988, 2008)]), min_size=1, max_size=30),
    without=st.lists(st.integers(0, 29), max_size=8),
    bounds=st.tuples(YEARS, YEARS, YEARS),
    only=st.one_of(st.none(), st.lists(st.integers(0, 29), max_size=20)),
    cut=st.integers(0, 30),
)
def test_a_filter_allows_what_its_definition_says_wherever_the_papers_are_cut(
    years: list[int],
    without: list[int],
    bounds: tuple[int | None, int | None, int | None],
    only: list[int] | None,
    cut: int,
) -> None:
    year_from, year_to, known_until = bounds
    papers = PaperFilter.rows(without, only=only, year_from=year_from, year_to=year_to).until(known_until)
    expected = [
        row not in without
        and (only is None or row in only)
        and (year_from is None or year >= year_from)
        and (year_to is None or 0 < year <= year_to)
        and (known_until is None or year <= known_until)
        for row, year in enumerate(years)
    ]
    all_years, cut = np.array(years, np.int16), min(cut, len(years))
    parts = [papers.allowed(all_years[:cut]), papers.allowed(all_years[cut:], first=cut)]
    assert np.concatenate(parts).tolist() == expected
    rows = np.arange(len(years))[::-1]
    assert papers.allowed_at(rows, all_years).tolist() == expected[::-1]
    assert not papers.is_open or all(expected)


def test_the_earlier_of_two_years_counts() -> None:
    assert PaperFilter(known_until=2000).until(1999).known_until == 1999
    assert PaperFilter(known_until=2000).until(2004).known_until == 2000
    assert EVERYTHING.until(None) is EVERYTHING
    assert EVERYTHING.is_open
    assert PaperFilter.rows([]).is_open
