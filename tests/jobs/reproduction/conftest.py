"""The corpora of these tests, and each paper's reproduction at toy size, made once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite_jobs.reproduction.plan import Setup
from cocite_jobs.reproduction.reproduce import Outcome, reproduce


@pytest.fixture(scope="session")
def toy_corpus(synthetic: SyntheticCorpora) -> Corpus:
    """Papers with metadata, links, contexts that cite several papers, and sentences around them."""
    return synthetic(200, seed=6, split=(2, 1), context_rate=2.0, sentences=True)


@pytest.fixture(scope="session")
def toy_setup(toy_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Setup]:
    """A setup of toy size for a paper, with the same folder in each call."""
    root = tmp_path_factory.mktemp("reproduction")
    return lambda paper: Setup(toy_corpus, root / paper, "toy")


@pytest.fixture(scope="session")
def reproduced(toy_setup: Callable[[str], Setup]) -> Callable[[str], Outcome]:
    """The outcome of a paper's first whole reproduction at toy size."""
    made: dict[str, Outcome] = {}

    def get(paper: str) -> Outcome:
        if paper not in made:
            made[paper] = reproduce(paper, toy_setup(paper))
        return made[paper]

    return get


@pytest.fixture
def empty_setup(toy_corpus: Corpus, tmp_path: Path) -> Setup:
    """A setup of toy size whose folder is not there yet."""
    return Setup(toy_corpus, tmp_path / "to", "toy")
