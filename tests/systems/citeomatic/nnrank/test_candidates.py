from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.many_processes import together

from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Ranking
from cocite.sampling.neighbours import nearest, with_citations
from cocite.systems.citeomatic.nnrank.candidates import NeighbourCandidates
from cocite.systems.citeomatic.nnrank.cross_fitting import FoldVectors
from cocite.systems.citeomatic.nnrank.recipe import NNRankCandidateSettings
from cocite.training.engine.world import World
from cocite.training.neighbour_search import NeighbourSearch


def vectors(corpus: Corpus, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).normal(size=(len(corpus), 6)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


@pytest.mark.parametrize("expand", [True, False])
def test_dev_candidates_are_neighbours_and_what_they_cite(history: History, expand: bool) -> None:
    space = vectors(history.corpus, 0)
    settings = NNRankCandidateSettings(neighbours=7, expand=expand)
    queries = np.array([5, 80, 200], np.int32)
    found = NeighbourCandidates(history, settings, space).dev(queries, World())
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
    rows = finder.training(queries, folds, World(), temporal=temporal)
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


def both(world: World, folder: Path, expand: bool) -> tuple[np.ndarray, Ranking, int]:
    """Training and dev candidates, and how many queries this process searched for."""
    corpus = Corpus.open(folder)
    history = History.all(corpus)
    count = len(corpus)
    fold = np.random.default_rng(1).integers(0, 2, count).astype(np.int8)
    folds = FoldVectors(fold, np.stack([vectors(corpus, 1), vectors(corpus, 2)]))
    settings = NNRankCandidateSettings.parse(
        {"neighbours": 4, "expand": expand, "search": {"exact_up_to": 100, "most": 0.5}}
    )
    finder = NeighbourCandidates(history, settings, folds.vectors[0])
    searched = []
    search = NeighbourSearch.nearest

    def counting(self: NeighbourSearch, queries: np.ndarray, k: int, **limits: Any) -> Ranking:
        searched.append(len(queries))
        return search(self, queries, k, **limits)

    queries = np.arange(0, count, 2, dtype=np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NeighbourSearch, "nearest", counting)
        rows = finder.training(queries, folds, world, temporal=True)
    return rows, finder.dev(queries[:31], world), sum(searched)


@pytest.mark.integration
@pytest.mark.parametrize("expand", [True, False])
def test_two_ranks_share_the_queries_and_find_what_one_finds(corpus: Corpus, expand: bool) -> None:
    rows, dev, all_of_them = both(World(), corpus.path, expand)
    for theirs, their_dev, searched in together(both, corpus.path, expand):
        assert np.array_equal(theirs, rows)
        assert np.array_equal(their_dev.rows, dev.rows)
        assert np.allclose(their_dev.scores, dev.scores)
        assert searched < 0.6 * all_of_them
