"""The component ``blend``: weights that replace the shipped ones, and mistakes in them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from helpers.model_folders import LOCAL, add_blend
from helpers.pipeline_queries import queries_of

from cocite.artifacts import publish
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, ConfigError, InputError
from cocite.manifests import read_manifest
from cocite.pipeline import components
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.weights import GLOBAL_NEURAL_WEIGHTS, GLOBAL_WEIGHTS, LOCAL_WEIGHTS, Blend, weights_for


def test_the_first_stage_weighs_as_the_model_folder_says(
    tmp_path: Path, corpus: Corpus, first: FirstStage, later: list[int]
) -> None:
    model = add_blend(tmp_path / "model")
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
    add_blend(model, **{"global": {"weights": {"whole>text": 1}}})
    assert FirstStage.load(model, first.index).weights["global"] == {"whole>text": 1}
    assert components.version(model) != recommender.model_version


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
    model = add_blend(tmp_path, **{kind: {"weights": {"whole>text": 1, signal: 0.5}}})
    with pytest.raises(InputError, match=re.escape(message)) as error:
        FirstStage.load(model, first.index)
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
    with pytest.raises(CociteError, match=re.escape(message)) as error:
        FirstStage.load(tmp_path, first.index)
    assert "weights.json" in str(error.value)


def test_a_blend_of_no_kind_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="neither local nor global"):
        Blend.parse({})


def test_a_blend_replaces_the_shipped_weights_of_its_kinds_alone() -> None:
    blend = Blend.parse({"global": {"weights": {"title>text": 2.0}}})
    assert list(blend.kinds) == ["global"]
    assert weights_for([], blend) == {"local": LOCAL_WEIGHTS, "global": {"title>text": 2.0}}
    assert weights_for([]) == {"local": LOCAL_WEIGHTS, "global": GLOBAL_WEIGHTS}
    assert weights_for(["hatten", "nnselect"])["global"] == GLOBAL_NEURAL_WEIGHTS


def test_a_blend_is_read_as_it_was_saved_and_replaces_an_earlier_one(tmp_path: Path) -> None:
    for weight in (0.5, 2.0):
        blend = Blend.parse({"local": {"weights": {"near>text": weight}, "encoders": ["hatten"]}})
        blend.save(tmp_path / "blend", {"study": "x"})
        assert Blend.read(tmp_path / "blend") == blend
    assert read_manifest(tmp_path / "blend").meta == {"study": "x"}
