"""What is made before the workers of a training start."""

from __future__ import annotations

from pathlib import Path

import pytest

from cocite.artifacts import verify
from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.manifests import MANIFEST, read_manifest
from cocite.systems.cross_encoder.task import CrossEncoderRecipe
from cocite.systems.masked_lm.task import MaskedLanguageModelRecipe
from cocite.systems.mp_bert4cr.task import MpBert4crRecipe
from cocite.systems.mp_bert4cr.pretraining.task import HierarchicalPretrainingRecipe
from cocite_jobs.storage.location import Place
from cocite_jobs.training.inputs import NEEDS, prepare
from cocite_jobs.training.train import KINDS, Report, load_recipe


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(300, seed=6), tmp_path_factory.mktemp("preparing") / "corpus")


SENTENCES = {"vocabulary": 400, "body": 4, "period": {"train_until": 2015}}
RECIPES = {
    "cross-encoder": CrossEncoderRecipe.parse(
        {
            "kind": "cross-encoder",
            "candidates": {"retriever": "bm25", "queries": 20, "period": {"train_until": 2015}},
        }
    ),
    "masked-lm": MaskedLanguageModelRecipe.parse(
        {"kind": "masked-lm", "texts": {"vocabulary": 400, "body": 0, "period": {"train_until": 2015}}}
    ),
    "mp-bert4cr-pretraining": HierarchicalPretrainingRecipe.parse(
        {"kind": "mp-bert4cr-pretraining", "texts": SENTENCES}
    ),
    "mp-bert4cr": MpBert4crRecipe.parse({"kind": "mp-bert4cr", "texts": SENTENCES}),
}


def test_every_kind_that_needs_something_is_tried_here() -> None:
    assert set(RECIPES) == set(NEEDS) <= set(KINDS)


@pytest.mark.parametrize("kind", NEEDS)
def test_it_is_made_once(corpus: Corpus, tmp_path: Path, kind: str) -> None:
    told: list[str] = []
    report = Report(stage=lambda name, _: told.append(name))
    assert prepare(RECIPES[kind], corpus, Place.of(tmp_path), report)
    assert told
    folder = tmp_path / NEEDS[kind][1]
    digest = verify(folder).digest
    assert not prepare(RECIPES[kind], corpus, Place.of(tmp_path), report)
    (folder / MANIFEST).write_text(f'{{"format": 1, "kind": "{kind}", "meta": {{}}, "files": {{}}}}')
    assert prepare(RECIPES[kind], corpus, Place.of(tmp_path), report)
    assert read_manifest(folder).digest == digest


def test_it_is_put_where_the_model_folder_is(corpus: Corpus, tmp_path: Path) -> None:
    from pyarrow import fs

    place = Place("mock://model", str(tmp_path / "far"), fs.SubTreeFileSystem("/", fs.LocalFileSystem()))
    assert prepare(RECIPES["cross-encoder"], corpus, place, Report())
    assert verify(tmp_path / "far" / "candidates").kind == "candidates"
    assert not prepare(RECIPES["cross-encoder"], corpus, place, Report())


def test_other_kinds_need_nothing(corpus: Corpus, tmp_path: Path) -> None:
    assert not prepare(load_recipe("fusion"), corpus, Place.of(tmp_path), Report())
    assert not list(tmp_path.iterdir())
