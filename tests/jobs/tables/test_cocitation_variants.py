"""Variants of MP-BERT4CR that train for seconds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from helpers.cocitation_report import cocitation_report, systems_of

from cocite.artifacts import publish
from cocite.corpus.store import Corpus
from cocite.training.input_artifacts import determining_settings
from cocite_jobs.tables import cocitation_variants
from cocite_jobs.tables.cocitation_variants import CONTROL_VARIANTS, VARIANTS, link_inputs, link_part
from cocite_jobs.training.inputs import needed_inputs
from cocite_jobs.training.recipes import load_recipe

TINY = ["texts.vocabulary=400", "texts.sentence_tokens=24", "model.sentence_tokens=24", "model.hidden=24"]
TINY += [
    "model.heads=2",
    "model.inner=48",
    "training.precision=fp32",
    "training.batch=24",
    "training.steps=2",
]
TINY += ["workers.count=0"]


@pytest.fixture(scope="module")
def corpus(cited_together: Corpus) -> Corpus:
    return cited_together


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recipes of a tiny MP-BERT4CR and its pretraining, as files."""
    folder = tmp_path_factory.mktemp("recipes")
    more = {
        "mp-bert4cr-small": ["dev_contexts=20"],
        "mp-bert4cr-pretraining-small": ["documents.least=2", "documents.dev=5"],
    }
    for name, overrides in more.items():
        recipe = load_recipe(name, [*TINY, *overrides])
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(recipe.model_dump(mode="json")))
    return folder


def test_what_is_missing_is_trained_and_only_once(
    capsys: pytest.CaptureFixture[str],
    corpus: Corpus,
    cache: Path,
    recipes: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        cocitation_variants, "VARIANTS", {name: VARIANTS[name] for name in ("triplet", "no_dynamic")}
    )
    to = tmp_path / "model"
    args = ["--model", to, "--train", "--baselines", "bm25", "--recipe", recipes / "mp-bert4cr-small.yaml"]
    args += ["--pretraining", recipes / "mp-bert4cr-pretraining-small.yaml"]
    report = cocitation_report(capsys, corpus, cache, *args)
    assert systems_of(report["tables"]["Table 3: positives"])[1:] == ["triplet", "no_dynamic"]
    assert systems_of(report["tables"]["Table 4: objectives"]) == ["best baseline", "triplet", "no_dynamic"]
    recipe = json.loads((to / "ablations/no_dynamic/mp-bert4cr/manifest.json").read_text())["meta"]["recipe"]
    assert recipe["contexts"]["fixed"]
    assert recipe["pretrained"] == "mp-bert4cr-pretraining"
    texts = [to / "sentence-texts/manifest.json", to / "ablations/triplet/sentence-texts/manifest.json"]
    assert texts[0].samefile(texts[1])
    before = {path: path.stat().st_mtime_ns for path in to.rglob("manifest.json")}
    shutil.rmtree(to / "ablations/no_dynamic/mp-bert4cr")
    again = cocitation_report(capsys, corpus, cache, *args)
    assert again["tables"]["Table 3: positives"] == report["tables"]["Table 3: positives"]
    after = {path: path.stat().st_mtime_ns for path in to.rglob("manifest.json")}
    assert {path.parent.parent.name for path in after if after[path] != before[path]} == {"no_dynamic"}


def test_each_variant_is_a_change_that_its_recipe_accepts() -> None:
    losses = {name: load_recipe("mp-bert4cr-small", [*changes]) for name, changes in VARIANTS.items()}
    assert losses["mpt-src"].objective.loss == "mpt-src"  # type: ignore[attr-defined]
    assert losses["no_dynamic"].contexts.fixed  # type: ignore[attr-defined]
    assert not losses["mpt-src-tgt"].contexts.fixed  # type: ignore[attr-defined]


def test_an_artifact_is_linked_once_from_the_first_folder_that_has_it(tmp_path: Path) -> None:
    holders = [tmp_path / name for name in ("none", "first", "second")]
    for holder in holders[1:]:
        (holder / "texts").mkdir(parents=True)
        (holder / "texts" / "data").write_text(holder.name)
    link_part("texts", holders, tmp_path / "to")
    assert (tmp_path / "to" / "texts" / "data").samefile(holders[1] / "texts" / "data")
    link_part("texts", holders[2:], tmp_path / "to")
    assert (tmp_path / "to" / "texts" / "data").read_text() == "first", "what is there stays"
    link_part("vectors", holders, tmp_path / "to")
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["texts"]


def test_inputs_are_linked_from_a_folder_that_has_them_of_the_same_settings(
    corpus: Corpus, tmp_path: Path
) -> None:
    recipe, other = (
        load_recipe("mp-bert4cr-small", [*TINY, f"texts.vocabulary={size}"]) for size in (400, 300)
    )
    needs = needed_inputs(recipe)
    holders = [tmp_path / name for name in ("none", "other", "own", "last")]
    for holder, made_of in zip(holders[1:], (other, recipe, recipe), strict=True):
        [texts] = [need for need in needed_inputs(made_of) if need.prepared.artifact == "sentence-texts"]
        meta = {"corpus": corpus.version, "settings": determining_settings(texts.settings)}
        with publish(holder / "sentence-texts", kind="sentence-texts", meta=meta) as folder:
            (folder / "data").write_text(holder.name)
    assert len(needs) > 1
    link_inputs(recipe, corpus, holders, tmp_path / "to")
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["sentence-texts"]
    assert (tmp_path / "to/sentence-texts/data").samefile(tmp_path / "own/sentence-texts/data")


@pytest.mark.parametrize("recipe", ["mp-bert4cr-small", "mp-bert4cr"])
def test_control_variants_differ_from_the_papers_by_one_thing(recipe: str) -> None:
    base = load_recipe(recipe, VARIANTS["mpt-src-tgt"]).model_dump(mode="json")
    words, zero = (
        load_recipe(recipe, changes).model_dump(mode="json") for changes in CONTROL_VARIANTS.values()
    )
    assert base["positives"]["count"] == 3
    assert zero == {**base, "positives": {**base["positives"], "count": 0}}
    none = {"reads": "words", "sentence_layers": 0, "document_layers": 0}
    assert base["model"]["document_layers"] > 0
    assert words == {**base, "model": {**base["model"], **none}, "pretrained": "none"}
