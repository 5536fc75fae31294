from __future__ import annotations

import numpy as np
import pytest

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW
from cocite.sampling.neighbours import nearest, with_citations
from cocite.systems.citeomatic.nnrank.candidates import NeighbourCandidates
from cocite.systems.citeomatic.nnrank.cross_fitting import FoldVectors
from cocite.systems.citeomatic.nnrank.recipe import NNRankCandidateSettings


def vectors(corpus: Corpus, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(len(corpus), 6)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize("expand", [True, False])
def test_dev_candidates_are_neighbours_and_what_they_cite(history: History, expand: bool) -> None:
    space = vectors(history.corpus, 0)
    settings = NNRankCandidateSettings(neighbours=7, expand=expand)
    queries = np.array([5, 80, 200], np.int32)
    found = NeighbourCandidates(history, settings, space).dev(queries)
    expected = nearest(space[queries], space, 7, exclude=queries)
    if expand:
        expected = with_citations(expected, history.cites, space[queries], space, exclude=queries)
    assert np.array_equal(found.rows, expected.rows)


@pytest.mark.parametrize("temporal", [True, False])
def test_training_candidates_are_found_in_the_space_of_their_fold(history: History, temporal: bool) -> None:
    corpus = history.corpus
    folds = FoldVectors(
        np.random.default_rng(1).integers(0, 2, len(corpus)).astype(np.int8),
        np.stack([vectors(corpus, 1), vectors(corpus, 2)]),
    )
    finder = NeighbourCandidates(
        history, NNRankCandidateSettings(neighbours=5, expand=False), folds.vectors[0]
    )
    queries = np.arange(100, 140, dtype=np.int32)
    rows = finder.training(queries, folds, temporal=temporal)
    assert rows.shape == (40, 5)
    for query, found in zip(queries, rows, strict=True):
        space = folds.vectors[folds.fold[query]]
        allowed = [
            paper
            for paper in range(len(corpus))
            if paper != query and (not temporal or corpus.years[paper] <= corpus.years[query])
        ]
        best = sorted(allowed, key=lambda paper: -float(space[paper] @ space[query]))[:5]
        assert found.tolist() == best
    assert NO_ROW not in rows
