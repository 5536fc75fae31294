"""The study of Citeomatic's K: its trials rank as Citeomatic does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.study_hits import dev_of, hits_of, ignore_metrics, same_to
from helpers.usage_commands import parsed_usage
from hypothesis import given
from hypothesis import strategies as st

from cocite.errors import InputError
from cocite.evaluation.citeomatic import CiteomaticRanker
from cocite.pipeline import components
from cocite_tuning.studies.neighbours import NEVER, NeighboursStudy, _least_k
from cocite_tuning.studies.neighbours_settings import NeighboursStudySettings


@pytest.fixture(scope="module")
def neighbours(store: Path, model: Path, shared: Path) -> NeighboursStudy:
    settings = NeighboursStudySettings(queries=40, model=model, neighbours=(1, 5, 20), timed=2)
    study = NeighboursStudy(settings, store, shared)
    study.prepare()
    return study


@pytest.mark.parametrize("expansion", [True, False])
@pytest.mark.parametrize("ranked", [True, False])
def test_neighbours_are_what_citeomatic_ranks(
    neighbours: NeighboursStudy, model: Path, expansion: bool, ranked: bool
) -> None:
    dev = dev_of(neighbours)
    nnrank = components.load_nnrank(model, dev.index) if ranked else None
    encoder = next(encoder for encoder in dev.encoders if encoder.name == "nnselect")
    ranker = CiteomaticRanker(dev.index, encoder, nnrank, neighbours=5, expansion=expansion)
    theirs, _ = hits_of(neighbours, ranker.rank(dev.task.queries, 300), dev)
    params = {"neighbours": 5, "expansion": expansion, "nnrank": ranked}
    assert same_to(300, neighbours.hits(params), theirs) > 0.98
    assert neighbours.run(params, ignore_metrics, Path())["latency_ms"] > 0


def test_a_model_folder_without_nnselect_is_refused(store: Path, shared: Path) -> None:
    study = NeighboursStudy(NeighboursStudySettings(model=None), store, shared)
    with pytest.raises(InputError, match="holds no nnselect, whose neighbours are counted"):
        study.prepare()


def test_the_note_has_a_call_with_the_trials_parameters(store: Path, model: Path, tmp_path: Path) -> None:
    study = NeighboursStudy(NeighboursStudySettings(model=model), store, tmp_path / "shared")
    lines, notes = parsed_usage(study, {"neighbours": 20, "nnrank": False}, store, tmp_path)
    assert lines == []
    assert "CiteomaticRanker(index, encoder, None, neighbours=20, expansion=True)" in notes


@given(
    keys=st.sets(st.integers(0, 30), min_size=1),
    pairs=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=40),
)
def test_the_least_k_of_each_candidate(keys: set[int], pairs: list[tuple[int, int]]) -> None:
    found, k = (np.array([pair[i] for pair in pairs], np.int64) for i in (0, 1))
    least = _least_k(np.array(sorted(keys)), found, k)
    wanted = [min([k for key, k in pairs if key == wanted], default=NEVER) for wanted in sorted(keys)]
    assert least.tolist() == wanted
