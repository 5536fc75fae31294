"""The member ``blend``: weights that stand in place of the shipped ones, and what no longer fits beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.pipeline_queries import queries_of

from cocite.artifacts import publish, seal
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, ConfigError, InputError
from cocite.pipeline import components as members
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_training import FusionRecipe, examples, learn
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.pipeline.weights import GLOBAL_WEIGHTS, Blend
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.index import Index
from cocite.systems.learned_fusion.reranker import LearnedFusion

LOCAL = {"whole>text": 1.0, "sentences:cubes": 0.5, "hatten": 2.0}


def blended(folder: Path, **kinds: dict[str, object]) -> Path:
    """A model folder with a blend."""
    data = kinds or {"local": {"weights": LOCAL, "encoders": ["hatten"]}}
    Blend.parse(data).save(folder / "blend", {})
    return folder


def fused(folder: Path, first: FirstStage, corpus: Corpus, later: list[int]) -> None:
    """Train a fusion of global queries into a model folder."""
    queries = queries_of(corpus, later[:20], context=False)
    relevant = CSR.build(*corpus.cites.gather(later[:20]), 20)
    data = examples(first, SecondStage(first.index), queries, relevant, depth=50)
    recipe = FusionRecipe.parse({"trees": {"trees": 3, "leaves": 4, "threads": 1}, "held_out": 0})
    meta = {"members": members.beneath(folder, first.index, "fusion")}
    LearnedFusion.save_all(folder / "fusion", {"global": learn(data, recipe).fusion}, meta)


def test_the_first_stage_weighs_as_the_model_folder_says(
    tmp_path: Path, corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    model = blended(tmp_path / "model")
    stage = FirstStage.load(model, first.index)
    # Its global weights are the shipped ones, and an encoder that is not there is left out.
    assert (stage.weights["local"], stage.weights["global"]) == (LOCAL, GLOBAL_WEIGHTS)
    known = FirstStage(first.index, weights={"local": LOCAL, "global": {}})
    queries = queries_of(corpus, later[:10], context=True)
    found, expected, shipped = (each.search(queries, 50) for each in (stage, known, first))
    np.testing.assert_array_equal(found.rows, expected.rows)
    assert (found.rows != shipped.rows).any()
    recommender = Recommender.over(model, first.index)
    np.testing.assert_array_equal(recommender.search(queries, 50).rows, expected.rows)
    assert recommender.model_version
    blended(model, **{"global": {"weights": {"whole>text": 1}}})
    assert FirstStage.load(model, first.index).weights["global"] == {"whole>text": 1}
    assert members.version(model) != recommender.model_version


@pytest.mark.parametrize(
    ("kind", "signal", "message"),
    [
        ("local", "sentenses", "no signal is called 'sentenses' for local queries (did you mean 'sentences'"),
        ("local", "sentences:cube", "no signal is called 'sentences:cube' for local queries"),
        ("global", "near>title", "no signal is called 'near>title' for global queries"),
    ],
)
def test_an_unknown_signal_is_refused(
    tmp_path: Path, first: FirstStage, kind: str, signal: str, message: str
) -> None:
    model = blended(tmp_path, **{kind: {"weights": {"whole>text": 1, signal: 0.5}}})
    with pytest.raises(InputError) as error:
        FirstStage.load(model, first.index)
    assert message in str(error.value)
    assert str(model / "blend") in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"local": {"weights": {"whole>text": -1}}}', "greater than or equal to 0"),
        ('{"locale": {"weights": {"whole>text": 1}}}', "unknown key 'locale' (did you mean 'local'"),
        ('{"local": {"weights": {}}}', "local.weights: "),
        ("{}", "has weights of neither local nor global queries"),
        ("[]", "valid dictionary"),
        ("{", "not valid JSON"),
    ],
)
def test_a_damaged_blend_is_refused(tmp_path: Path, first: FirstStage, text: str, message: str) -> None:
    with publish(tmp_path / "blend", kind="blend", meta={}) as folder:
        (folder / "weights.json").write_text(text)
    with pytest.raises(CociteError) as error:
        FirstStage.load(tmp_path, first.index)
    assert message in str(error.value)
    assert "weights.json" in str(error.value)


def test_weights_mean_nothing_beside_an_encoder_that_they_were_found_without(tmp_path: Path) -> None:
    model = blended(tmp_path)
    assert members.load_blend(model, ["hatten"]) is not None
    assert members.load_blend(model, []) is not None
    with pytest.raises(InputError, match="for local queries were found without nnselect, which is there now"):
        members.load_blend(model, ["hatten", "nnselect"])


def test_a_fusion_is_refused_with_a_blend_that_it_was_not_trained_with(
    tmp_path: Path, corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    plain, tuned = tmp_path / "plain", tmp_path / "tuned"
    plain.mkdir()
    fused(plain, first, corpus, later)
    version = members.version(plain)
    assert "blend" not in members.beneath(plain, first.index, "fusion")
    SecondStage.load(plain, first.index)
    blended(plain)
    assert members.version(plain) != version
    with pytest.raises(InputError, match="trained without blend, which is there now.*train fusion again"):
        SecondStage.load(plain, first.index)
    fused(blended(tuned), FirstStage.load(tuned, first.index), corpus, later)
    SecondStage.load(tuned, first.index)
    blended(tuned, **{"local": {"weights": {"whole>text": 1}}})
    with pytest.raises(InputError, match="trained with another blend"):
        SecondStage.load(tuned, first.index)
    # One that an earlier version of cocite trained says nothing of what it was trained with.
    seal(plain / "fusion", kind="learned-fusion", meta={})
    with pytest.raises(InputError, match="trained without blend"):
        SecondStage.load(plain, first.index)


def test_a_fusion_is_refused_over_an_index_of_another_k1(
    tmp_path: Path, corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    fused(tmp_path, first, corpus, later)
    other = Bm25Fields.from_options(["text.k1=2"], option="--bm25")
    index = Index.build(corpus, History.until(corpus, first.signals.year), bm25=other)
    with pytest.raises(InputError, match=r"has the usual k1 and b, and this one has text\.k1=2\.0"):
        SecondStage.load(tmp_path, index)
    fused(tmp_path / "other", FirstStage(index), corpus, later)
    SecondStage.load(tmp_path / "other", index)
    with pytest.raises(InputError, match=r"has text\.k1=2\.0, and this one has the usual ones"):
        SecondStage.load(tmp_path / "other", first.index)


def test_a_blend_of_no_kind_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="neither local nor global"):
        Blend.parse({})
