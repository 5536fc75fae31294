"""Model cards: what huggingface_hub reads of them, and what they claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.published_models import add_cross_encoder, add_sentence_encoder
from huggingface_hub import ModelCard

from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError
from cocite.manifests import Manifest
from cocite.pipeline.huggingface.card import WHAT, CardOptions, card_of
from cocite.pipeline.huggingface.forms import FormName, form_of
from cocite.pipeline.huggingface.parts import KINDS, Part, parts_of

Described = tuple[Part, FormName, str]


def part(name: str = "hatten", form: FormName = "cocite", path: str | None = None, **meta: Any) -> Described:
    return Part(name, Path(name), Manifest(KINDS[name], meta, {})), form, name if path is None else path


def written(tmp_path: Path, parts: list[Described], options: CardOptions) -> ModelCard:
    """The card as it is read again from its file."""
    (tmp_path / "README.md").write_text(str(card_of(parts, options)), encoding="utf-8")
    return ModelCard.load(tmp_path / "README.md")


def test_every_part_is_described() -> None:
    assert set(WHAT) == set(KINDS)


def test_the_header_is_read_again(tmp_path: Path) -> None:
    recipe = {"encoder": "org/base", "period": {"train_until": 2009}}
    hatten = part(corpus="12ab", dev={"MRR": 0.3125, "R@10": 0.5, "loss": 3.0}, recipe=recipe)
    fusion = part("fusion", corpus="34cd", dev={"local MRR": 0.4})
    options = CardOptions("me/acl", license="cc-by-4.0", datasets=["me/acl-corpus"])
    card = written(tmp_path, [hatten, fusion], options)
    data = card.data
    assert (data.license, data.base_model, data.datasets) == ("cc-by-4.0", ["org/base"], ["me/acl-corpus"])
    assert (data.library_name, data.pipeline_tag, data.model_name) == ("cocite", "text-ranking", "me/acl")
    assert "citation-recommendation" in data.tags
    assert data.metrics == ["local_mrr", "mrr", "r_at_10"]
    assert {
        (result.dataset_revision, result.metric_name): result.metric_value for result in data.eval_results
    } == {
        ("12ab", "hatten: MRR (dev)"): 0.3125,
        ("12ab", "hatten: R@10 (dev)"): 0.5,
        ("34cd", "fusion: local MRR (dev)"): 0.4,
    }
    assert {result.dataset_split for result in data.eval_results} == {"dev"}
    assert {(result.dataset_type, result.dataset_name) for result in data.eval_results} == {
        ("me/acl-corpus", "corpus 12ab"),
        ("me/acl-corpus", "corpus 34cd"),
    }
    for said in (
        "| hatten | version `12ab` | papers to 2009 | `org/base` |",
        "| fusion | version `34cd` | dev queries | none |",
        "| hatten | MRR | 0.3125 |",
        "No figure here is of test",
    ):
        assert said in card.text
    assert "no license" not in card.text


@pytest.mark.parametrize(
    ("name", "recipe", "said"),
    [
        ("nnselect", {"period": {"train_until": 2010}}, "papers to 2010"),
        ("nnselect", {"period": {"train_until": None}}, "the train split, else the first 80 % by year"),
        ("masked-lm", {"texts": {"period": {"train_until": 2011}}}, "papers to 2011"),
        ("mp-bert4cr", {"candidates": {"period": {"train_until": 2012}}}, "papers to 2012"),
        ("hatten", {}, "not recorded"),
        ("hatten", {"period": 3}, "not recorded"),
        ("citing-sentences", {}, "sentences of the train split"),
    ],
)
def test_what_a_part_was_trained_on(name: str, recipe: dict[str, Any], said: str) -> None:
    card = card_of([part(name, corpus="ab", recipe=recipe)], CardOptions("small"))
    assert f"| {name} | version `ab` | {said} | none |" in card.text


def test_the_publisher_names_the_weights() -> None:
    described = part("masked-lm", "encoder", recipe={"encoder": "/home/me/weights"})
    text = card_of([described], CardOptions("small", base_model="org/base")).text
    assert "| `org/base`, as the publisher says |" in text
    assert "unknown origin" not in text


def test_what_is_not_known_is_not_claimed(tmp_path: Path) -> None:
    card = written(tmp_path, [part(recipe={"encoder": "/home/me/weights"})], CardOptions("small"))
    data = card.data.to_dict()
    assert {"license", "base_model", "datasets", "metrics", "model-index"} & set(data) == set()
    for said in (
        "The publisher has named no license.",
        "The manifests hold no figures.",
        "The size and the years of the corpus are not recorded",
        "began from weights of unknown origin",
    ):
        assert said in card.text
    assert "/home/me" not in str(card)
    assert "The recipes name no pretrained weights." in card_of([part()], CardOptions("small")).text


@pytest.mark.parametrize(
    ("base", "seen"),
    [
        ("sentence-transformers/all-MiniLM-L6-v2", "citation pairs of S2ORC"),
        ("allenai/scibert_scivocab_uncased", "full texts of papers"),
        ("allenai/specter", "citations of papers"),
        ("org/unheard-of", "is not recorded here"),
    ],
)
def test_what_public_weights_may_have_seen(base: str, seen: str) -> None:
    described = part("masked-lm", "encoder", recipe={"encoder": base})
    card = card_of([described], CardOptions("small"))
    assert (card.data.base_model, seen in card.text) == ([base], True)
    named = card_of([part()], CardOptions("small", base_model=base))
    assert (named.data.base_model, seen in named.text) == ([base], True)


@pytest.mark.parametrize(
    ("name", "form", "path", "library", "task"),
    [
        ("sentence", "sentence-transformers", "", "sentence-transformers", "sentence-similarity"),
        ("sentence", "sentence-transformers", "sentence", "cocite", "sentence-similarity"),
        ("masked-lm", "encoder", "", "transformers", "feature-extraction"),
        ("citing-sentences", "cocite", "", "cocite", "text-classification"),
        ("nnselect", "cocite", "", "cocite", "text-ranking"),
    ],
)
def test_library_and_task(
    tmp_path: Path, name: str, form: FormName, path: str, library: str, task: str
) -> None:
    if name == "sentence":
        described = (parts_of(add_sentence_encoder(tmp_path / "model"))[0][0], form, path)
    else:
        described = part(name, form, path)
    data = card_of([described], CardOptions("small")).data
    assert (data.library_name, data.pipeline_tag) == (library, task)


@pytest.mark.parametrize(
    ("options", "library"), [({}, "sentence-transformers"), ({"pooled": True}, "transformers")], ids=str
)
def test_library_of_a_cross_encoder(tmp_path: Path, options: dict[str, Any], library: str) -> None:
    (read,) = parts_of(add_cross_encoder(tmp_path / "model", **options))[0]
    data = card_of([(read, form_of(read), "")], CardOptions("small")).data
    assert (data.library_name, data.pipeline_tag) == (library, "text-ranking")


def test_years_of_the_corpus() -> None:
    corpus = starter_corpus()
    card = card_of([part(corpus=corpus.version)], CardOptions("small", corpus=corpus))
    assert f"The corpus of version `{corpus.version}` has 423 papers: train 250 papers, " in card.text
    with pytest.raises(
        InputError, match=f"--corpus: its version is {corpus.version}, and the parts were trained on ab"
    ):
        card_of([part(corpus="ab")], CardOptions("small", corpus=corpus))
    with pytest.raises(InputError, match="the parts were trained on none that their manifests name"):
        card_of([part()], CardOptions("small", corpus=corpus))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "a b"}, "--name: 'a b' is no name on the hub"),
        ({"name": "a/b/c"}, "--name: 'a/b/c'"),
        ({"name": "a", "license": "MIT\nx: y"}, "--license"),
        ({"name": "a", "datasets": ["a", "../b"]}, "--dataset: '../b'"),
        ({"name": "a", "base_model": ""}, "--base-model: ''"),
    ],
)
def test_names_that_the_hub_refuses(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CardOptions(**options)
