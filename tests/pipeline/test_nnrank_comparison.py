"""The record of a trained NNRank: below NNSelect it is left out of all, below the first stage it does not order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.pipeline import nnrank_comparison
from cocite.pipeline.nnrank_comparison import nnrank_record
from cocite.systems.citeomatic.nnrank.network import NNRank
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnrank.reranker import save_nnrank
from cocite.systems.citeomatic.nnselect.encoder import load_encoder, save_nnselect
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.text.fields import FieldEncoder, FieldSettings
from cocite.training.periods import Periods, PeriodSettings
from cocite.training.stages import StageComparison, compare_stages, query_values


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    """300 papers; the last years are dev and test."""
    return synthetic(300, seed=5, split=(3, 1))


def comparison(before: str, kind: str, *, below: bool) -> StageComparison:
    """Forty queries whose cited paper is first by the better order and third by the other."""
    best, third = (np.tile(np.arange(5) == place, (40, 1)) for place in (0, 2))
    counts, papers = np.ones(40, np.int32), np.arange(40)
    new, old = (third, best) if below else (best, third)
    return compare_stages(
        "nnrank", before, kind, query_values(new, counts), query_values(old, counts), papers
    )


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NNSelect and NNRank, as they are before any training."""
    folder = tmp_path_factory.mktemp("model")
    history = Periods.of(corpus, PeriodSettings()).history
    fields = FieldEncoder.build(history, FieldSettings())
    words = {name: len(vocabulary) for name, vocabulary in fields.vocabularies.items()}
    save_nnselect(folder / "nnselect", NNSelect(words["words"], 8), fields, {})
    encoder = load_encoder(folder)
    recipe = NNRankRecipe.parse({"model": {"dimension": 8}})
    save_nnrank(folder / "nnrank", NNRank(words, recipe.model), fields, {}, nnselect=encoder.id)
    return folder


@pytest.fixture
def record(corpus: Corpus, model: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The record of comparisons with the given outcomes."""

    def make(*, nnselect: bool, local: bool, keep: str = "unless_below") -> dict[str, Any]:
        over_first = [
            comparison("first-stage", "local", below=local),
            comparison("first-stage", "global", below=False),
        ]
        over_nnselect = comparison("nnselect", "global", below=nnselect)
        monkeypatch.setattr(nnrank_comparison, "_over_nnselect", lambda *_: over_nnselect)
        monkeypatch.setattr(nnrank_comparison, "_over_first_stage", lambda *_: over_first)
        return nnrank_record(
            NNRankRecipe.parse({"keep": keep}), corpus, model, model / "nnrank", lambda *_: None
        )

    return make


def test_below_nnselect_nothing_reads_its_score(record: Any) -> None:
    found = record(nnselect=True, local=False)
    assert list(found["left_out"]) == ["all"]
    assert "it is left out of the pipeline" in found["left_out"]["all"]
    assert [stage["before"] for stage in found["stages"]] == ["nnselect"], "the first stage is not asked"


def test_below_the_first_stage_of_a_kind_it_is_a_signal_alone(record: Any) -> None:
    found = record(nnselect=False, local=True)
    assert list(found["left_out"]) == ["local"]
    assert "or by a learned fusion, which weighs nnrank's score" in found["left_out"]["local"]
    assert [(stage["before"], stage["kind"]) for stage in found["stages"]] == [
        ("nnselect", "global"),
        ("first-stage", "local"),
        ("first-stage", "global"),
    ]
    assert len(found["notes"]) == 3


@pytest.mark.parametrize("nnselect", [True, False])
def test_nothing_is_left_out_where_the_recipe_keeps_it(record: Any, nnselect: bool) -> None:
    found = record(nnselect=nnselect, local=True, keep="always")
    assert found["left_out"] == {}
    assert any("it is kept all the same" in note for note in found["notes"])


def test_above_both_it_orders_every_kind(record: Any) -> None:
    found = record(nnselect=False, local=False)
    assert found["left_out"] == {}
    assert all(not stage["below"] for stage in found["stages"])
