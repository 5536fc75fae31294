"""Groups of candidates: what may be in them, and that they are functions of seed, epoch and query."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.goodness_of_fit import fits
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.errors import ConfigError
from cocite.protocols import NO_ROW
from cocite.sampling.random_papers import RandomPapers
from cocite.systems.cross_encoder.examples import CandidateGroups, GroupSettings
from cocite.systems.cross_encoder.random_candidates import RandomCandidates


def candidates(queries: int = 40, depth: int = 30, papers: int = 200) -> tuple[NDArray[np.int32], CSR]:
    """Candidates without repetition, and one to three cited papers a query, of which about half are among them."""
    rng = np.random.default_rng(5)
    rows = np.stack([rng.permutation(papers)[:depth] for _ in range(queries)]).astype(np.int32)
    rows[3, 20:] = NO_ROW
    owner, cited = [], []
    for i in range(queries):
        for _ in range(1 + i % 3):
            owner.append(i)
            cited.append(int(rng.choice(rows[i, :20])) if rng.random() < 0.5 else int(rng.integers(papers)))
    return rows, CSR.build(owner, cited, queries)


def sampled(negatives: int = 6, **settings: object) -> GroupSettings:
    return GroupSettings.parse({"negatives": negatives, **settings})


def test_a_group_is_a_cited_paper_and_candidates_that_are_not_cited() -> None:
    rows, cited = candidates()
    groups = CandidateGroups(rows, cited, sampled(), seed=1)
    assert len(groups) == len(rows)
    found, relevant = groups.epoch(0)
    assert found.shape == relevant.shape == (len(rows), 7)
    assert relevant[:, 0].all()
    assert not relevant[:, 1:].any()
    for query, group in zip(groups.queries, found, strict=True):
        assert group[0] in cited[query]
        negatives = group[1:]
        assert len(set(negatives.tolist())) == 6
        assert set(negatives.tolist()) <= set(rows[query].tolist()) - {NO_ROW}
        assert not set(negatives.tolist()) & set(cited[query].tolist())


def test_every_cited_paper_and_every_candidate_is_drawn_in_some_epoch() -> None:
    rows, cited = candidates()
    groups = CandidateGroups(rows, cited, sampled(), seed=1)
    seen: list[set[int]] = [set() for _ in rows]
    positives: list[set[int]] = [set() for _ in rows]
    for epoch in range(60):
        found, _ = groups.epoch(epoch)
        for query, group in zip(groups.queries.tolist(), found.tolist(), strict=True):
            positives[query].add(group[0])
            seen[query].update(group[1:])
    for query in range(len(rows)):
        assert positives[query] == set(cited[query].tolist())
        assert seen[query] == set(rows[query].tolist()) - {NO_ROW} - positives[query]


ONE_QUERY = np.array([9, 2, 7, 4, 0, 5, 8, NO_ROW], np.int32)
"""The candidates of a query that cites 2, 7 and 11."""


def groups_of_one_query(**settings: object) -> NDArray[np.int32]:
    """The groups of 20,000 queries that are alike."""
    count = 20_000
    cited = CSR(3 * np.arange(count + 1), np.tile(np.array([2, 7, 11], np.int32), count))
    groups = CandidateGroups(np.tile(ONE_QUERY, (count, 1)), cited, sampled(**settings), seed=3)  # type: ignore[arg-type]
    return groups.epoch(0)[0]


@pytest.mark.parametrize(("missed", "cited"), [(True, [2, 7, 11]), (False, [2, 7])])
def test_a_groups_cited_paper_is_drawn_evenly(missed: bool, cited: list[int]) -> None:
    masses = np.zeros(12)
    masses[cited] = 1 / len(cited)
    assert fits(groups_of_one_query(negatives=2, missed=missed)[:, 0], masses)


@pytest.mark.parametrize(
    ("settings", "pairs"),
    [
        # Without putting back: each pair is as likely as another.
        ({}, [(9, 4), (9, 0), (9, 5), (9, 8), (4, 0), (4, 5), (4, 8), (0, 5), (0, 8), (5, 8)]),
        # The near ones are 9 and 4, for 2 and 7 are cited.
        ({"near": 4, "near_share": 0.5}, [(9, 0), (9, 5), (9, 8), (4, 0), (4, 5), (4, 8)]),
    ],
)
def test_a_groups_negatives_are_drawn_evenly(
    settings: dict[str, object], pairs: list[tuple[int, int]]
) -> None:
    drawn = groups_of_one_query(negatives=2, **settings)[:, 1:]
    masses = np.zeros(100)
    masses[[10 * first + second for first, second in pairs]] = 1 / len(pairs)
    assert fits(10 * drawn[:, 0] + drawn[:, 1], masses)


def test_without_the_missed_only_what_was_found_is_a_positive() -> None:
    rows, cited = candidates()
    groups = CandidateGroups(rows, cited, sampled(missed=False), seed=1)
    assert 0 < len(groups) < len(rows)
    for epoch in range(20):
        found, _ = groups.epoch(epoch)
        assert (found[:, :1] == rows[groups.queries]).any(axis=1).all()
        assert cited.contains(groups.queries, found[:, 0]).all()


def test_a_share_of_the_negatives_is_near() -> None:
    rows, cited = candidates()
    groups = CandidateGroups(rows, cited, sampled(8, near=10, near_share=0.75), seed=1)
    found, _ = groups.epoch(0)
    for query, group in zip(groups.queries.tolist(), found, strict=True):
        near = np.isin(group[1:], rows[query, :10])
        assert near.sum() == 6, query


def test_where_candidates_are_few_the_group_is_padded() -> None:
    rows, cited = candidates()
    groups = CandidateGroups(rows, cited, sampled(25, near=5, near_share=0.2), seed=1)
    found, _ = groups.epoch(0)
    short = found[groups.queries.tolist().index(3)]
    others = set(rows[3].tolist()) - {NO_ROW} - set(cited[3].tolist())
    assert set(short[1:].tolist()) == others | {NO_ROW}
    assert (short[1:] == NO_ROW).sum() == 25 - len(others)
    wide = CandidateGroups(rows, cited, sampled(50), seed=1).epoch(0)[0]
    assert wide.shape[1] == 51
    assert ((wide != NO_ROW).sum(axis=1) <= 31).all()


def test_an_epoch_is_a_function_of_seed_and_number() -> None:
    rows, cited = candidates()
    one, two = (CandidateGroups(rows, cited, sampled(), seed=1) for _ in range(2))
    later = one.epoch(1)[0]
    assert np.array_equal(one.epoch(0)[0], two.epoch(0)[0])
    assert np.array_equal(later, two.epoch(1)[0])
    assert not np.array_equal(later, two.epoch(0)[0])
    assert not np.array_equal(CandidateGroups(rows, cited, sampled(), seed=2).epoch(0)[0], one.epoch(0)[0])


def test_a_draw_does_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, cited = candidates()
    whole = CandidateGroups(rows, cited, sampled(), seed=1).epoch(0)[0]
    monkeypatch.setattr("cocite.systems.cross_encoder.examples.BLOCK", 7 * rows.shape[1])
    assert np.array_equal(CandidateGroups(rows, cited, sampled(), seed=1).epoch(0)[0], whole)


def test_the_top_candidates_are_taken_in_their_order() -> None:
    rows, cited = candidates()
    settings = GroupSettings.parse({"candidates": "top", "top": 10})
    groups = CandidateGroups(rows, cited, settings, seed=1)
    found, relevant = groups.epoch(0)
    assert np.array_equal(found, rows[groups.queries, :10])
    assert relevant.any(axis=1).all()
    assert np.array_equal(relevant, cited.contains(groups.queries[:, None], found))
    unbalanced = CandidateGroups(rows, cited, settings, seed=1, unanswered=True)
    assert len(unbalanced) == len(rows) > len(groups)


def balanced(top: int = 10, **settings: object) -> GroupSettings:
    return GroupSettings.parse({"candidates": "top", "top": top, "balanced": True, **settings})


@pytest.mark.parametrize("missed", [True, False])
def test_a_balanced_group_has_as_many_cited_papers_as_others(missed: bool) -> None:
    rows, cited = candidates()
    rows[5, 7:] = NO_ROW
    groups = CandidateGroups(rows, cited, balanced(missed=missed), seed=1, unanswered=True)
    for epoch in range(3):
        found, relevant = groups.epoch(epoch)
        assert found.shape == relevant.shape == (len(groups), 10)
        for query, group, is_cited in zip(groups.queries.tolist(), found, relevant, strict=True):
            head = set(rows[query, :10].tolist()) - {NO_ROW}
            mine = set(cited[query].tolist())
            positives = group[is_cited].tolist()
            others = group[~is_cited & (group != NO_ROW)].tolist()
            known = mine if missed else mine & head
            assert len(positives) == len(others) == min(len(known), len(head - mine), 5)
            assert len(set(positives)) == len(positives)
            assert len(set(others)) == len(others)
            assert set(positives) <= known
            assert set(others) <= head - mine
    # A query that has nothing of either kind has no group.
    answered = [bool(set(cited[q].tolist()) & set(rows[q, :10].tolist())) for q in range(len(rows))]
    assert groups.queries.tolist() == [q for q in range(len(rows)) if missed or answered[q]]


def test_a_balanced_group_is_drawn_evenly() -> None:
    """Of seven cited papers and seven others, four of each are drawn: 6,000 epochs, by a chi-squared test."""
    rows = np.arange(9, dtype=np.int32)[None]
    cited = CSR.build([0] * 7, [2, 4, 20, 21, 22, 23, 24], 1)
    groups = CandidateGroups(rows, cited, balanced(9, missed=True), seed=3)
    expected = np.zeros((2, 30))
    expected[0, [2, 4, 20, 21, 22, 23, 24]] = 1 / 7
    expected[1, [0, 1, 3, 5, 6, 7, 8]] = 1 / 7
    drawn = np.stack(
        [groups.epoch(epoch)[0][0] for epoch in range(6000)]
    )  # four cited ones, then four others
    assert drawn.shape == (6000, 8)
    for column in range(8):
        assert fits(drawn[:, column], expected[column // 4]), column
    # Which two are drawn together is even too: 42 ordered pairs of the seven.
    for first, kind in ((0, 0), (4, 1)):
        two = np.outer(expected[kind], expected[kind])
        np.fill_diagonal(two, 0)
        assert fits(drawn[:, first] * 30 + drawn[:, first + 1], (two / two.sum()).ravel())


def test_a_balanced_group_is_a_function_of_seed_and_epoch() -> None:
    rows, cited = candidates()
    one, two = (CandidateGroups(rows, cited, balanced(), seed=1) for _ in range(2))
    assert np.array_equal(one.epoch(4)[0], two.epoch(4)[0])
    assert not np.array_equal(one.epoch(4)[0], one.epoch(5)[0])
    assert not np.array_equal(CandidateGroups(rows, cited, balanced(), seed=2).epoch(4)[0], one.epoch(4)[0])


@pytest.mark.parametrize("kind", [{"candidates": "top", "top": 10}, {"negatives": 6}])
def test_random_papers_stand_behind_the_group_that_there_is_without_them(kind: dict[str, object]) -> None:
    rows, cited = candidates()
    years = np.random.default_rng(2).integers(2000, 2010, 200).astype(np.int16)
    citing = 150 + np.arange(len(rows))
    outside = RandomCandidates(RandomPapers(years, later=False), citing, cited)
    plain = CandidateGroups(rows, cited, GroupSettings.parse(kind), seed=1, unanswered=True)
    settings = GroupSettings.parse({**kind, "random": 5})
    mixed = CandidateGroups(rows, cited, settings, seed=1, unanswered=True, outside=outside)
    assert np.array_equal(mixed.queries, plain.queries)
    for epoch in range(3):
        found, relevant = mixed.epoch(epoch)
        before, was = plain.epoch(epoch)
        assert found.shape == relevant.shape == (len(mixed), settings.width)
        assert np.array_equal(found[:, :-5], before)
        assert np.array_equal(relevant[:, :-5], was)
        assert not relevant[:, -5:].any()
        for query, group in zip(mixed.queries.tolist(), found.tolist(), strict=True):
            drawn = [row for row in group[-5:] if row != NO_ROW]
            assert len({*drawn, *group[:-5]}) == len(drawn) + len({*group[:-5]}), (
                "drawn once, and not in the group"
            )
            assert not {*drawn} & {citing[query], *cited[query].tolist()}
            assert (years[drawn] <= years[citing[query]]).all()
    assert not np.array_equal(mixed.epoch(0)[0][:, -5:], mixed.epoch(1)[0][:, -5:])


def test_settings_that_cannot_be_met_are_refused() -> None:
    with pytest.raises(ConfigError, match="random adds candidates that are not cited"):
        balanced(random=3)
    with pytest.raises(ValueError, match="random papers need a corpus"):
        CandidateGroups(*candidates(), sampled(random=3), seed=0)
    with pytest.raises(ConfigError, match="balanced is a setting of candidates: top"):
        sampled(balanced=True)
    with pytest.raises(ConfigError, match="near holds fewer candidates"):
        sampled(30, near=10, near_share=0.5)
