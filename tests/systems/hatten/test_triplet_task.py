"""The triplets of the paper, found one by one."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.small_hatten import TRIPLETS, hatten_task

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW
from cocite.systems.hatten.triplet_task import TripletTask
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World


@pytest.mark.parametrize(
    ("later", "spares", "against_random"),
    [
        ("used", False, False),  # the paper's
        ("used", True, False),
        ("used", False, True),
        ("not_drawn", True, True),
        ("left_out", True, True),
    ],
)
def test_the_triplets_are_those_of_the_paper(
    corpus: Corpus, tmp_path: Path, later: str, spares: bool, against_random: bool
) -> None:
    """Section 4.3: the cited paper against mined ones, and the relevant among the mined against random ones."""
    objective = {**TRIPLETS, "later": later, "spare_manuscript": spares}
    objective |= {"cited_against_random": against_random}
    task = hatten_task(corpus, tmp_path, objective=objective)
    assert isinstance(task, TripletTask)
    assert not isinstance(task, ContrastiveTask)
    task.model.eval()
    task.refresh(task.model, World(), 0)
    examples = np.arange(12)
    sample, batch = task.sample(examples, 0), task.collate(examples, 0)
    assert sample.mined.shape == (12, 4)
    query, positive, negative = task.triplets(sample)
    triplets = list(zip(query.tolist(), positive.tolist(), negative.tolist(), strict=True))
    for q in range(12):
        citing, cited = task.gaps.citing[sample.contexts[q]], task.gaps.cited[sample.contexts[q]].tolist()
        mined, random = sample.mined[q], sample.random[q, 0]
        expected = [(paper, other) for paper in cited for other in mined.tolist()]
        expected += [(paper, random) for paper in mined[sample.relevant[q]].tolist()]
        expected += [(paper, random) for paper in cited if against_random]
        spared = corpus.cites[citing].tolist() if spares else cited
        forbidden = {NO_ROW, int(citing), *spared}
        allowed = [
            (p, n)
            for p, n in expected
            if n not in forbidden and p != n and (later == "used" or corpus.years[n] <= corpus.years[citing])
        ]
        assert sorted((p, n) for i, p, n in triplets if i == q) == sorted(allowed)
    assert sample.relevant.any()
    # Eq. 3 in float64, one triplet after the other; a query's triplets count together as one.
    vectors = task.model.double()(batch.documents).detach().tolist()
    row = {paper: i for i, paper in enumerate(sample.papers.tolist(), len(sample.contexts))}

    def similarity(q: int, paper: int) -> float:
        left, right = vectors[q], vectors[row[paper]]
        lengths = math.hypot(*left) * math.hypot(*right)
        return math.fsum(a * b for a, b in zip(left, right, strict=True)) / lengths

    expected_losses = []
    for q in range(12):
        own = [max(similarity(q, n) - similarity(q, p) + 0.1, 0.0) for i, p, n in triplets if i == q]
        expected_losses.append(math.fsum(own) / max(len(own), 1))
    assert max(expected_losses) > 0
    assert task.loss(task.model, batch).tolist() == pytest.approx(expected_losses, abs=1e-7)


def test_only_what_the_context_cites_is_no_negative_where_the_manuscript_is_not_spared(
    corpus: Corpus, tmp_path: Path
) -> None:
    found = {}
    for spares in (True, False):
        settings = {**TRIPLETS, "later": "used", "depth": 80, "spare_manuscript": spares}
        task = hatten_task(corpus, tmp_path, objective=settings)
        task.refresh(task.model, World(), 0)
        assert task.mined_papers is not None
        rows, numbers = task.mined_papers.rows, np.arange(len(task.gaps))[:, None]
        assert not task.gaps.cited.contains(numbers, rows).any()
        assert not (rows == task.gaps.citing[:, None]).any()
        found[spares] = corpus.cites.contains(task.gaps.citing[:, None], rows).any()
    assert found == {True: False, False: True}


def test_no_random_negative_is_lost_but_what_the_citing_paper_cites(corpus: Corpus, tmp_path: Path) -> None:
    left = {}
    for later in ("used", "not_drawn", "left_out"):
        task = hatten_task(corpus, tmp_path, objective={**TRIPLETS, "later": later})
        sample = task.sample(np.arange(len(task.gaps)), 0)
        citing = task.gaps.citing[sample.contexts]
        drawn = sample.random[:, 0]
        lost = (drawn == citing) | corpus.cites.contains(citing, drawn)
        left[later] = (~task.forbidden.at(citing, drawn)).mean()
        if later != "left_out":
            assert left[later] == 1 - lost.mean()
        is_later = corpus.years[drawn] > corpus.years[citing]
        assert is_later.any() == (later != "not_drawn")
    assert left["left_out"] < 0.7 < 0.9 < min(left["used"], left["not_drawn"])
