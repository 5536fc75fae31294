from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cocite.artifacts import publish
from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.progress_bars import no_bars
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite_jobs.tables.citeomatic_variants import (
    ENCODER_TOKENS,
    METADATA,
    CiteomaticVariants,
    encoder_recipe,
    without_neighbours,
)


@pytest.mark.parametrize("cls", [NNSelectRecipe, NNRankRecipe])
def test_without_neighbours_as_many_negatives_are_drawn_at_random(cls: Any) -> None:
    recipe = cls.parse({"negatives": {"random": 3, "neighbour": 5}})
    changed = without_neighbours(recipe)
    assert (changed.negatives.random, changed.negatives.neighbour) == (8, 0)
    assert changed.model == recipe.model
    assert (recipe.negatives.random, recipe.negatives.neighbour) == (3, 5), "the model's recipe stays"
    if hasattr(recipe.objective, "extra"):
        assert sum(changed.objective.extra) == sum(recipe.objective.extra)
        assert changed.objective.extra[1] == 0


def test_an_rnn_gets_an_even_dimension_and_few_words_a_pass() -> None:
    recipe = NNSelectRecipe.parse({"model": {"dimension": 325}, "training": {"tokens": 20_000_000}})
    for encoder, dimension in (("cnn", 325), ("rnn", 326)):
        changed = encoder_recipe(recipe, encoder)
        assert NNSelectRecipe.parse(changed.model_dump()).model.encoder == encoder, "it is a valid recipe"
        assert (changed.model.dimension, changed.training.tokens) == (dimension, ENCODER_TOKENS)
    few = recipe.model_copy(update={"training": recipe.training.model_copy(update={"tokens": 500})})
    assert encoder_recipe(few, "cnn").training.tokens == 500


def corpus_of(folder: Path, **fields: Any) -> Corpus:
    return build([PaperRecord(f"p{i}", f"title {i}", year=2000 + i, **fields) for i in range(3)], folder)


def model_with(folder: Path, **features: bool) -> Path:
    """A model folder of which only the recipe of NNRank is there."""
    with publish(folder / "nnrank", kind="nnrank", meta={"recipe": {"model": features}}):
        pass
    return folder


def test_a_model_that_reads_text_alone_is_its_own_variant(tmp_path: Path) -> None:
    model = model_with(tmp_path / "model", **dict.fromkeys(METADATA, False))
    variants = CiteomaticVariants(corpus_of(tmp_path / "c"), model, no_bars)
    assert variants.text_only() == model
    assert variants.seed == 0
    assert variants.with_metadata() is None, "the corpus has no metadata"


def test_a_model_that_reads_metadata_is_its_own_variant(tmp_path: Path) -> None:
    model = model_with(tmp_path / "model", venue=True)
    variants = CiteomaticVariants(corpus_of(tmp_path / "c"), model, no_bars)
    assert variants.with_metadata() == model


def test_the_metadata_variant_reads_the_fields_that_the_corpus_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(
        CiteomaticVariants,
        "_trained",
        lambda self, name, changes: trained.append((name, changes)) or self.model,
    )
    model = model_with(tmp_path / "model", **dict.fromkeys(METADATA, False))
    CiteomaticVariants(corpus_of(tmp_path / "c", authors=("A",)), model, no_bars).with_metadata()
    assert trained == [("metadata", {"authors": True, "venue": False, "keyphrases": False})]
    reading = model_with(tmp_path / "reading", authors=True)
    CiteomaticVariants(corpus_of(tmp_path / "d"), reading, no_bars).text_only()
    assert trained[1] == ("text", dict.fromkeys(METADATA, False))
