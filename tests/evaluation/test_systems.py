"""Which systems a model folder offers, and which encoders they need; a folder's parts are its subfolders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.small_citeomatic import train_small_citeomatic
from helpers.synthetic import SyntheticCorpora
from helpers.tiny_bert import tiny_bert

from cocite.artifacts import publish
from cocite.corpus.history import History
from cocite.errors import InputError
from cocite.evaluation import systems
from cocite.evaluation.citeomatic import CiteomaticRanker
from cocite.pipeline import components
from cocite.protocols import Query
from cocite.retrieval.index.index import Index
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder


def folder(root: Path, *parts: str) -> Path:
    for part in parts:
        with publish(root / part, kind=part, meta={}) as part_folder:
            (part_folder / "global.txt").touch()
    return root


def test_available_systems_follow_from_the_components(tmp_path: Path) -> None:
    assert systems.available(None) == ["bm25", "first"]
    assert systems.available(folder(tmp_path / "a", "fusion")) == ["bm25", "first", "full"]
    everything = (
        "nnselect",
        "nnrank",
        "hatten",
        "sentence",
        "mp-bert4cr",
        "fusion",
        "cross-encoder",
        "final",
    )
    whole = folder(tmp_path / "b", *everything)
    assert systems.available(whole) == list(systems.SYSTEMS)
    assert systems.select(whole, ["cross", "bm25"], where="--stages") == ["cross", "bm25"]
    assert systems.select(None, ["first-without-neural", "full"], where="--stages") == [
        "first-without-neural",
        "full",
    ]
    for name in ("cross", "hatten", "fusion"):
        with pytest.raises(InputError, match=f"lacks the parts of '{name}'"):
            systems.select(folder(tmp_path / name, "nnselect"), [name], where="--stages")
    with pytest.raises(InputError, match="did you mean 'hatten'"):
        systems.select(whole, ["haten"], where="--stages")


def test_encoders_are_loaded_for_systems_that_use_them(tmp_path: Path, synthetic: SyntheticCorpora) -> None:
    corpus = synthetic(60, seed=1)
    bert = tiny_bert(tmp_path / "bert", ["parsing"])
    model = tmp_path / "model"
    save_sentence_encoder(model / "sentence", SentenceRecipe(encoder=str(bert), max_tokens=64), {})
    assert systems.encoders_for(model, ["bm25", "first-without-neural"]) == []
    for names in (["sentence"], ["first"], ["bm25", "full"]):
        assert [encoder.name for encoder in systems.encoders_for(model, names)] == ["sentence"]
    index = Index.build(corpus, History.all(corpus), encoders=systems.encoders_for(model, ["sentence"]))
    queries = [Query("q", "", corpus.paper(5).title, corpus.paper(5).abstract)]
    assert systems.open_system("sentence", model, index)(queries, 3).rows[0, 0] == 5
    plain = systems.open_system("first-without-neural", model, index)(queries, 10)
    untrained = systems.open_system("first", None, index)(queries, 10)
    np.testing.assert_array_equal(plain.rows, untrained.rows)
    with pytest.raises(InputError, match="needs a model folder"):
        systems.open_system("hatten", None, index)


def test_nnrank_has_as_many_neighbours_as_it_was_trained_with(
    tmp_path: Path, synthetic: SyntheticCorpora
) -> None:
    corpus = synthetic(200, seed=2, split=(2, 1))
    model = train_small_citeomatic(corpus, tmp_path / "model", "candidates.neighbours=7")
    [encoder] = systems.encoders_for(model, ["nnrank"])
    index = Index.build(corpus, History.all(corpus), encoders=[encoder])
    queries = [Query("q", "", corpus.paper(row).title, corpus.paper(row).abstract) for row in (5, 90)]
    found = systems.open_system("nnrank", model, index)(queries, 200)
    nnrank = components.load_nnrank(model, index)
    expected, wider = (
        CiteomaticRanker(index, encoder, nnrank, neighbours=count).rank(queries, 200) for count in (7, 100)
    )
    np.testing.assert_array_equal(found.rows, expected.rows)
    assert found.depth < wider.depth
