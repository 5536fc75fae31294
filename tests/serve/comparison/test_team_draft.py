"""Lists of two rankings: what holds of each, and that no ranking is favoured."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cocite_serve.comparison.team_draft import TEAMS, team_draft

RANKINGS = st.lists(st.sampled_from("abcdefghijklmnop"), unique=True, max_size=12)
SEEDS = st.integers(0, 2**63)


@given(RANKINGS, RANKINGS, st.integers(1, 20), SEEDS)
def test_each_prefix_has_as_many_papers_of_either_up_to_one(
    served: list[str], beside: list[str], size: int, seed: int
) -> None:
    picks = team_draft(served, beside, size, seed)
    teams = [team for _, team in picks if team is not None]
    for end in range(len(teams) + 1):
        assert abs(teams[:end].count("served") - teams[:end].count("beside")) <= 1
    # What has no team stands behind all that has one.
    assert [team for _, team in picks[: len(teams)]] == teams


@given(RANKINGS, RANKINGS, st.integers(1, 20), SEEDS)
def test_no_paper_comes_twice_and_none_is_lost(
    served: list[str], beside: list[str], size: int, seed: int
) -> None:
    ids = [id_ for id_, _ in team_draft(served, beside, size, seed)]
    assert len(ids) == len(set(ids)) == min(size, len({*served, *beside}))
    assert {*ids} <= {*served, *beside}


@given(RANKINGS, RANKINGS, st.integers(1, 20), SEEDS)
def test_the_order_of_each_ranking_is_kept(
    served: list[str], beside: list[str], size: int, seed: int
) -> None:
    picks = team_draft(served, beside, size, seed)
    place = {id_: rank for rank, (id_, _) in enumerate(picks)}
    for ranking, team in ((served, "served"), (beside, "beside")):
        own = [id_ for id_, of in picks if of == team]
        assert own == sorted(own, key=ranking.index)
        for id_ in own:  # what the ranking prefers was in the list before
            assert all(place[better] < place[id_] for better in ranking[: ranking.index(id_)])


@given(RANKINGS, RANKINGS, st.integers(1, 20), SEEDS)
def test_the_seed_decides(served: list[str], beside: list[str], size: int, seed: int) -> None:
    assert team_draft(served, beside, size, seed) == team_draft(served, beside, size, seed)


def test_equal_rankings_are_shown_as_they_are_and_neither_has_the_first_place_more_often() -> None:
    ranking = list("abcdefghij")
    first = dict.fromkeys(TEAMS, 0)
    for seed in range(2000):
        picks = team_draft(ranking, ranking, 10, seed)
        assert [id_ for id_, _ in picks] == ranking
        [team] = [team for id_, team in picks if id_ == "a"]
        assert team is not None
        first[team] += 1
    assert 900 < first["served"] < 1100


def test_what_only_one_ranking_has_left_belongs_to_neither() -> None:
    picks = team_draft(["a"], ["b", "c", "d", "e"], 5, seed=3)
    assert {id_ for id_, _ in picks[:2]} == {"a", "b"}
    assert (dict(picks)["a"], dict(picks)["b"], dict(picks)["e"]) == ("served", "beside", None)
    assert team_draft([], ["b", "c"], 5, seed=0)[-1] == ("c", None)
    assert team_draft([], [], 5, seed=0) == []
