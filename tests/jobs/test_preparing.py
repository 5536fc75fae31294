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
from cocite.systems.mp_bert4cr.build import MpBert4crRecipe
from cocite.systems.mp_bert4cr.pretraining.task import HierarchicalPretrainingRecipe
from cocite_jobs.storage.location import Location
from cocite_jobs.training.inputs import prepare_inputs
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.registry import KINDS


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(300, seed=6), tmp_path_factory.mktemp("preparing") / "corpus")


NEEDS = {kind: row.inputs for kind, row in KINDS.items() if row.inputs is not None}
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
    assert set(RECIPES) == set(NEEDS)


@pytest.mark.parametrize("kind", NEEDS)
def test_it_is_made_once(corpus: Corpus, tmp_path: Path, kind: str) -> None:
    told: list[str] = []
    report = ProgressFunctions(stage=lambda name, _: told.append(name))
    assert prepare_inputs(RECIPES[kind], corpus, Location.of(tmp_path), report)
    assert told
    folder = tmp_path / NEEDS[kind].artifact
    digest = verify(folder).digest
    assert not prepare_inputs(RECIPES[kind], corpus, Location.of(tmp_path), report)
    (folder / MANIFEST).write_text(f'{{"format": 1, "kind": "{kind}", "meta": {{}}, "files": {{}}}}')
    assert prepare_inputs(RECIPES[kind], corpus, Location.of(tmp_path), report)
    assert read_manifest(folder).digest == digest


def test_it_is_put_where_the_model_folder_is(corpus: Corpus, tmp_path: Path) -> None:
    from pyarrow import fs

    place = Location("mock://model", str(tmp_path / "far"), fs.SubTreeFileSystem("/", fs.LocalFileSystem()))
    assert prepare_inputs(RECIPES["cross-encoder"], corpus, place, ProgressFunctions())
    assert verify(tmp_path / "far" / "candidates").kind == "candidates"
    assert not prepare_inputs(RECIPES["cross-encoder"], corpus, place, ProgressFunctions())


def test_other_kinds_need_nothing(corpus: Corpus, tmp_path: Path) -> None:
    assert not prepare_inputs(load_recipe("fusion"), corpus, Location.of(tmp_path), ProgressFunctions())
    assert not list(tmp_path.iterdir())
