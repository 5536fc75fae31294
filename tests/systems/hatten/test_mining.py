from __future__ import annotations

import numpy as np
import pytest
from helpers.goodness_of_fit import fits

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.protocols import NO_ROW
from cocite.sampling.draws import uniform
from cocite.systems.hatten.mining import (
    MinedPapers,
    mine,
    most_overlapping,
)
from cocite.text.fields import FieldEncoder, FieldSettings
from cocite.training.forbidden_negatives import ForbiddenNegatives


def units(rng: np.random.Generator, count: int) -> np.ndarray:
    vectors = rng.normal(size=(count, 6)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def citing(history: History) -> np.ndarray:
    """Papers of the history with links, some of them twice."""
    rows = np.flatnonzero(history.cites.degrees > 0).astype(np.int32)
    return np.sort(np.concatenate([rows, rows[::3]]))


def wrong(history: History, citing: int, rows: np.ndarray) -> set[int]:
    """What among some rows is no negative of a citing paper, found one by one."""
    years = history.corpus.years
    return {
        row
        for row in rows.tolist()
        if row == citing or row in history.cites[citing].tolist() or years[row] > years[citing]
    }


def test_what_is_mined_is_never_forbidden_and_otherwise_the_nearest(
    history: History, citing: np.ndarray
) -> None:
    rng = np.random.default_rng(0)
    papers, queries = units(rng, len(history.corpus)), units(rng, len(citing))
    rows, metrics = mine(queries, citing, papers, ForbiddenNegatives(history), 20)
    assert not metrics
    similar = queries @ papers.T
    everything = np.arange(len(papers))
    for i in range(0, len(citing), 17):
        allowed = np.setdiff1d(everything, list(wrong(history, citing[i], everything)))
        best = allowed[np.argsort(-similar[i, allowed], kind="stable")][:20]
        assert rows[i, : len(best)].tolist() == best.tolist()
        assert (rows[i, len(best) :] == NO_ROW).all()


def test_later_papers_are_mined_where_they_are_not_forbidden(history: History, citing: np.ndarray) -> None:
    forbidden = ForbiddenNegatives(history, later=False)
    years, rows = history.corpus.years, np.arange(len(history.corpus))
    for i in (0, 50, len(citing) - 1):
        expected = {int(citing[i]), *history.cites[citing[i]].tolist()}
        assert set(rows[forbidden.at(citing[i : i + 1], rows)].tolist()) == expected
        assert set(rows[forbidden.table(citing[i : i + 1], rows)[0]].tolist()) == expected
    rng = np.random.default_rng(0)
    papers, queries = units(rng, len(rows)), units(rng, len(citing))
    mined, _ = mine(queries, citing, papers, forbidden, 20)
    similar = queries @ papers.T
    for i in range(0, len(citing), 17):
        allowed = np.setdiff1d(rows, [citing[i], *history.cites[citing[i]].tolist()])
        best = allowed[np.argsort(-similar[i, allowed], kind="stable")][:20]
        assert mined[i].tolist() == best.tolist()
    assert (years[mined] > years[citing][:, None]).any()


def test_mined_papers_are_drawn_from_those_that_there_are() -> None:
    rows = np.array([[4, 9, NO_ROW], [NO_ROW] * 3, [1, 2, 3]], np.int32)
    relevant = np.array([[False, True, False], [False] * 3, [True, False, False]])
    numbers = uniform(0, 0, np.arange(3), 60)
    drawn, marked = MinedPapers(rows, relevant).draw(np.array([2, 0, 1]), numbers)
    assert [set(row) for row in drawn.tolist()] == [{1, 2, 3}, {4, 9}, {NO_ROW}]
    assert np.array_equal(marked, np.isin(drawn, [1]) | (drawn == 9))


def test_mined_papers_are_drawn_evenly_and_apart_from_each_other() -> None:
    rows = np.array([[NO_ROW] * 4, [4, 9, 1, NO_ROW], [1, 2, 3, 4]], np.int32)
    mined = MinedPapers(rows, np.zeros(rows.shape, bool))
    for query, present in ((1, [4, 9, 1]), (2, [1, 2, 3, 4])):
        numbers = uniform(0, query, np.arange(20_000), 3)
        drawn, _ = mined.draw(np.full(20_000, query), numbers)
        pairs = np.zeros(100)
        pairs[[10 * one + other for one in present for other in present]] = 1 / len(present) ** 2
        assert fits(10 * drawn[:, 0] + drawn[:, 1], pairs)
        assert fits(10 * drawn[:, 1] + drawn[:, 2], pairs)


def test_what_overlaps_most_is_that_of_jaccard(history: History) -> None:
    fields = FieldEncoder.build(history, FieldSettings())
    bags = fields.papers(history.corpus)["abstract"]
    rng = np.random.default_rng(4)
    rows = np.stack([rng.permutation(len(bags))[:10] for _ in range(30)]).astype(np.int32)
    rows[3, 6:] = NO_ROW
    rows[5] = NO_ROW
    chosen = rng.integers(0, len(bags), 30)
    queries = CSR.build(*bags.gather(chosen), 30)
    found = most_overlapping(rows, queries, bags, len(fields.vocabularies["words"]), 0.3)
    for i in range(30):
        words = set(bags[chosen[i]].tolist())
        index = [
            len(words & set(bags[row].tolist())) / max(len(words | set(bags[row].tolist())), 1)
            if row >= 0
            else -1.0
            for row in rows[i]
        ]
        best = sorted(index, reverse=True)[: max(int(0.3 * (rows[i] >= 0).sum()), 1)]
        assert sorted(np.array(index)[found[i]], reverse=True) == pytest.approx(
            [b for b in best if b > 0], abs=1e-6
        )
        assert (rows[i][found[i]] != NO_ROW).all()
