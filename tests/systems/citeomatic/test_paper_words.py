"""The artifact of numbered words: equal to what is numbered anew, and refused where it is another."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import seal
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.manifests import MANIFEST
from cocite.systems.citeomatic import paper_words
from cocite.systems.citeomatic.negatives import title_and_abstract
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import build
from cocite.systems.citeomatic.paper_words import (
    KIND,
    KnownPapers,
    PaperWordSettings,
    fields_of,
    load,
    prepare,
    text_words,
)
from cocite.text.fields import FieldEncoder, FieldSettings
from cocite.training.periods import Periods

ALL = PaperWordSettings(metadata=True, order=True)
FEW = np.array([7, 3, 3, 250], np.int32)


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=9)


@pytest.fixture(scope="module")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    assert prepare(ALL, corpus, folder / KIND)
    assert not prepare(ALL, corpus, folder / KIND)
    return folder


@pytest.fixture(scope="module")
def anew(corpus: Corpus) -> FieldEncoder:
    return FieldEncoder.build(Periods.of(corpus, ALL.period).history, ALL.fields, metadata=True)


@pytest.mark.parametrize("rows", [None, FEW])
def test_bags_and_words_in_order_are_those_that_are_made_anew(
    corpus: Corpus, folder: Path, anew: FieldEncoder, rows: np.ndarray | None
) -> None:
    known = load(folder, corpus, ALL)
    assert known.fields == anew.fields == ("title", "abstract", "authors", "venue", "keyphrases")
    for field, bag in anew.papers(corpus, rows).items():
        np.testing.assert_array_equal(known.papers(corpus, rows)[field].indptr, bag.indptr)
        np.testing.assert_array_equal(known.papers(corpus, rows)[field].indices, bag.indices)
    for field, lists in anew.paper_sequences(corpus, rows).items():
        found = known.paper_sequences(corpus, rows)[field]
        assert [found[i].tolist() for i in range(len(found))] == [
            lists[i].tolist() for i in range(len(lists))
        ]


def test_papers_of_another_corpus_are_numbered_anew(
    synthetic: SyntheticCorpora, corpus: Corpus, folder: Path, anew: FieldEncoder
) -> None:
    other = synthetic(60, seed=2)
    known = load(folder, corpus, ALL)
    np.testing.assert_array_equal(known.papers(other)["title"].indices, anew.papers(other)["title"].indices)
    assert len(known.paper_sequences(other)["title"]) == len(other)


def test_without_an_order_words_are_read_again(corpus: Corpus, tmp_path: Path, anew: FieldEncoder) -> None:
    settings = PaperWordSettings(metadata=True)
    prepare(settings, corpus, tmp_path / KIND)
    known = load(tmp_path, corpus, settings)
    assert not known.in_order
    np.testing.assert_array_equal(
        known.paper_sequences(corpus)["title"].ids, anew.paper_sequences(corpus)["title"].ids
    )


def test_an_encoder_that_numbers_words_alike_gets_the_bags(
    corpus: Corpus, folder: Path, anew: FieldEncoder
) -> None:
    known = load(folder, corpus, ALL)
    words = FieldEncoder(anew.settings, {"words": anew.vocabularies["words"]})
    found = known.known_for(words)
    assert isinstance(found, KnownPapers)
    assert list(found.papers(corpus)) == ["title", "abstract"]
    assert found.papers(corpus)["title"] is known.bags["title"]
    shorter = dataclasses.replace(words, settings=FieldSettings(max_abstract=5))
    assert known.known_for(shorter) is shorter
    assert known.known_for(anew) is anew


def test_nnselect_on_the_artifact_is_nnselect_without_it(corpus: Corpus, tmp_path: Path) -> None:
    for model in ({"dimension": 8}, {"dimension": 8, "encoder": "cnn"}):
        recipe = NNSelectRecipe.parse({"model": model})
        folder = tmp_path / recipe.model.encoder
        prepare(recipe.words, corpus, folder / KIND)
        with_artifact, without = build(recipe, corpus, folder), build(recipe, corpus)
        assert isinstance(with_artifact.fields, KnownPapers)
        np.testing.assert_array_equal(with_artifact.sizes, without.sizes)
        np.testing.assert_array_equal(with_artifact.vectors(), without.vectors())


def test_words_of_others_or_that_contradict_each_other_are_refused(
    synthetic: SyntheticCorpora, corpus: Corpus, tmp_path: Path
) -> None:
    settings = NNRankRecipe().words
    prepare(settings, corpus, tmp_path / KIND)
    with pytest.raises(InputError, match="the words are of another corpus"):
        load(tmp_path, synthetic(60, seed=2), settings)
    with pytest.raises(InputError, match="the words were made with other settings"):
        load(tmp_path, corpus, ALL)
    path = tmp_path / KIND / "title.indptr.npy"
    np.save(path, np.load(path)[:-1], allow_pickle=False)
    seal(tmp_path / KIND, kind=KIND, meta=json.loads((tmp_path / KIND / MANIFEST).read_text())["meta"])
    with pytest.raises(IntegrityError, match="title"):
        fields_of(settings, Periods.of(corpus, settings.period), tmp_path)


def test_the_words_of_title_and_abstract_are_mapped(
    corpus: Corpus, tmp_path: Path, anew: FieldEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_words, "BLOCK", 70)
    prepare(ALL, corpus, tmp_path / KIND)
    known, bags = load(tmp_path, corpus, ALL), anew.papers(corpus)
    found, expected = text_words(known, corpus, known.papers(corpus)), title_and_abstract(bags)
    for name in ("indptr", "indices"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert isinstance(found.indices, np.memmap) or isinstance(found.indices.base, np.memmap)
    # Those of an earlier version's artifact, or of another corpus, are put together now.
    older = dataclasses.replace(known, together=None)
    assert np.array_equal(text_words(older, corpus, bags).indices, expected.indices)
    other = dataclasses.replace(known, corpus="another")
    assert np.array_equal(text_words(other, corpus, bags).indices, expected.indices)
