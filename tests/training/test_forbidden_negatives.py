from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.protocols import NO_ROW
from cocite.training.forbidden_negatives import ForbiddenNegatives


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


def test_forbidden_papers_are_the_same_pairwise_and_as_a_table(history: History, citing: np.ndarray) -> None:
    forbidden = ForbiddenNegatives(history)
    rows = np.random.default_rng(1).permutation(len(history.corpus))[:100].astype(np.int32)
    table = forbidden.table(citing, rows)
    assert np.array_equal(table, forbidden.at(citing[:, None], rows[None]))
    for i in (0, 50, len(citing) - 1):
        assert set(rows[table[i]].tolist()) == wrong(history, citing[i], rows)
    assert forbidden.at(citing[:1], np.array([NO_ROW])).all()


def test_later_papers_are_allowed_where_they_are_not_forbidden(history: History, citing: np.ndarray) -> None:
    forbidden = ForbiddenNegatives(history, later=False)
    rows = np.arange(len(history.corpus))
    for i in (0, 50, len(citing) - 1):
        expected = {int(citing[i]), *history.cites[citing[i]].tolist()}
        assert set(rows[forbidden.table(citing[i : i + 1], rows)[0]].tolist()) == expected


@pytest.mark.parametrize("later", [True, False])
def test_contexts_forbid_their_paper_and_what_they_cite_alone(
    history: History, citing: np.ndarray, later: bool
) -> None:
    queries, rows = np.arange(len(citing)), np.arange(len(history.corpus))
    cited = CSR.build(queries, [history.cites[paper][0] for paper in citing], len(citing))
    forbidden = ForbiddenNegatives(history, later=later, contexts=(citing, cited))
    table = forbidden.table(queries, rows)
    assert np.array_equal(table, forbidden.at(queries[:, None], rows[None]))
    years = history.corpus.years
    for i in (0, 50, len(citing) - 1):
        after = set(rows[years[rows] > years[citing[i]]].tolist()) if later else set()
        assert set(rows[table[i]].tolist()) == {int(citing[i]), int(cited[i][0]), *after}
