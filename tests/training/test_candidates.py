from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.candidate_sets import save
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.protocols import NO_ROW
from cocite.training.candidates import (
    CandidateSet,
    CandidateSettings,
    cited_rows,
    load,
    training_positions,
)


@pytest.fixture
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=5)


def candidates(corpus: Corpus, task: str) -> CandidateSet:
    positions = training_positions(
        corpus, CandidateSettings.parse({"task": task}), np.ones(len(corpus), bool), 20
    )
    rows = np.random.default_rng(0).integers(0, len(corpus), (len(positions), 4)).astype(np.int32)
    rows[0, 3] = NO_ROW
    return CandidateSet(task, positions, rows, cited_rows(corpus, task, positions))


@pytest.mark.parametrize("task", ["local", "global"])
def test_queries_come_from_the_papers_and_cite_another(corpus: Corpus, task: str) -> None:
    some = np.zeros(len(corpus), bool)
    some[100:200] = True
    settings = CandidateSettings.parse({"task": task})
    positions = training_positions(corpus, settings, some, None)
    papers = CandidateSet(
        task, positions, np.zeros((len(positions), 0), np.int32), cited_rows(corpus, task, positions)
    )
    assert len(positions)
    assert some[papers.papers(corpus)].all()
    assert (papers.cited.degrees > 0).all()
    few = training_positions(corpus, settings, some, 5)
    assert len(few) == 5
    assert set(few.tolist()) <= set(positions.tolist())
    assert np.array_equal(few, training_positions(corpus, settings, some, 5))


@pytest.mark.parametrize("task", ["local", "global"])
def test_relevant_are_the_candidates_that_a_query_cites(corpus: Corpus, task: str) -> None:
    found = candidates(corpus, task)
    for number in range(len(found)):
        cited = set(found.cited[number].tolist())
        assert found.relevant[number].tolist() == [row in cited for row in found.rows[number].tolist()]
    assert len(found.queries(corpus)) == len(found)
    part = found.take(np.array([7, 2]))
    assert part.positions.tolist() == found.positions[[7, 2]].tolist()
    assert part.cited[1].tolist() == found.cited[2].tolist()


def test_what_is_saved_is_loaded(corpus: Corpus, tmp_path: Path) -> None:
    parts = {"train": candidates(corpus, "local"), "dev": candidates(corpus, "local").take(np.arange(3))}
    save(tmp_path / "candidates", parts, {"corpus": corpus.version})
    for name, part in load(tmp_path / "candidates", corpus).items():
        assert part.task == "local"
        assert np.array_equal(part.rows, parts[name].rows)
        assert np.array_equal(part.positions, parts[name].positions)
        assert np.array_equal(part.cited.indices, parts[name].cited.indices)


def test_candidates_of_another_corpus_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    part = candidates(corpus, "global")
    save(tmp_path / "candidates", {"train": part, "dev": part}, {"corpus": "another"})
    with pytest.raises(InputError, match="the candidates are of another corpus"):
        load(tmp_path / "candidates", corpus)


def test_arrays_that_do_not_fit_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    part = candidates(corpus, "global")
    wrong = CandidateSet("global", part.positions, part.rows + len(corpus), part.cited)
    save(tmp_path / "candidates", {"train": wrong, "dev": part}, {"corpus": corpus.version})
    with pytest.raises(IntegrityError, match="the arrays of train do not fit each other"):
        load(tmp_path / "candidates", corpus)
