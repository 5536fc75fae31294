from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.input_recipes import RECIPES
from helpers.small_hatten import hatten_recipe
from helpers.synthetic import SyntheticCorpora
from helpers.untrained_encoders import untrained_encoders

from cocite.artifacts import seal, verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.manifests import MANIFEST, Manifest, manifest_text, read_manifest
from cocite.pipeline.components import load_encoders
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.training.candidates import CandidateSettings
from cocite.training.input_artifacts import determining_settings
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.transfer import upload_tree
from cocite_jobs.training.inputs import NeededInput, are_there, check_periods, prepare_inputs
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe, shipped_recipes
from cocite_jobs.training.registry import KINDS


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=6)


NEEDS = {kind: row.inputs for kind, row in KINDS.items() if row.inputs}


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


def test_of_what_is_there_the_manifests_alone_are_read(remote: str) -> None:
    """Those of the input and of the components that it was made by, which may be large."""
    settings = CandidateSettings(retriever="nnselect")
    need = NeededInput(KINDS["cross-encoder"].inputs[0], settings)
    location = Location.of(remote)
    with pytest.raises(NotFoundError, match=r"nnselect: holds no manifest\.json"):
        are_there([need], "12ab", location)
    files = {"weights": {"bytes": 3, "sha256": "0" * 64}}
    (location / "nnselect").write(MANIFEST, manifest_text("nnselect", {}, files))
    assert not are_there([need], "12ab", location)
    digest = Manifest("nnselect", {}, files).digest
    meta = {
        "corpus": "12ab",
        "settings": determining_settings(settings),
        "components": {"nnselect": digest},
    }
    (location / "candidates").write(MANIFEST, manifest_text("candidates", meta, {}))
    assert are_there([need], "12ab", location)
    assert not are_there([need], "34cd", location)
    tokens = NeededInput(KINDS["cross-encoder"].inputs[1], CandidateSettings())
    assert not are_there([need, tokens], "12ab", location, {"candidates"})


def test_what_an_encoder_finds_is_divided_where_the_index_has_its_vectors(
    corpus: Corpus, tmp_path: Path, remote: str
) -> None:
    model = untrained_encoders(corpus, tmp_path / "model")
    IndexSnapshot.create(corpus, tmp_path / "with", encoders=load_encoders(model))
    IndexSnapshot.create(corpus, tmp_path / "without")
    there = Location.of(remote)
    (there / "nnselect").put(model / "nnselect")
    candidates, tokens = KINDS["cross-encoder"].inputs

    def divided(to: Location, retriever: str = "nnselect", index: str | None = "with") -> bool:
        path = None if index is None else str(tmp_path / index)
        return NeededInput(candidates, CandidateSettings(retriever=retriever, index=path)).is_divided(to)

    for to in (Location.of(model), there):
        assert divided(to)
        assert not divided(to, index="without")
        assert not divided(to, index=None)
        assert divided(to, "bm25", "without")
        assert not divided(to, "bm25", None)
    assert not NeededInput(tokens, CandidateSettings(index=str(tmp_path / "with"))).is_divided(there)
    with pytest.raises(NotFoundError, match=r"nnselect: holds no manifest\.json"):
        divided(there / "none")
    untrained_encoders(corpus, tmp_path / "other", seed=1)
    assert not divided(Location.of(tmp_path / "other"))


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
