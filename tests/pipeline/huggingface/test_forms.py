"""Forms: transformers and sentence-transformers compute from an export what cocite computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.published_models import META, add_cross_encoder, add_sentence_encoder, small_tokenizer
from helpers.small_berts import small_bert
from sentence_transformers import CrossEncoder as PublicCrossEncoder
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from cocite.errors import IntegrityError
from cocite.pipeline.huggingface.card import CardOptions
from cocite.pipeline.huggingface.forms import form_of, restore_file
from cocite.pipeline.huggingface.parts import parts_of
from cocite.pipeline.huggingface.repository import export_model, import_model
from cocite.protocols import Query
from cocite.systems.bi_encoder.network import BiEncoder
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.cross_encoder.pair_scorer import PairScorer
from cocite.systems.sentence_encoder.encoder import load_sentence_encoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder

PAPERS = [("Rare words", "We split words."), ("Translation of rare words into units", "")]
CONTEXT, TITLE, ABSTRACT = "rare words are split [CIT] into units", "Machine translation", "We translate."


def exported(part: Path, to: Path) -> str:
    export_model(part, to, CardOptions("small"))
    return str(to)


def scores(folder: Path, query: Query) -> np.ndarray:
    scorer = PairScorer(CrossEncoder.load(folder), precision="fp32", threads=1)
    queries = scorer.pairs.queries([query]).take(np.zeros(len(PAPERS), np.int64))
    return scorer.logits(queries, scorer.pairs.papers(*zip(*PAPERS, strict=True)))


def texts_of(papers: list[tuple[str, str]]) -> list[str]:
    return [". ".join(filter(None, paper)) for paper in papers]


@pytest.mark.parametrize("type_", ["bert", "electra"])
@pytest.mark.parametrize("layout", ["local", "global"])
def test_a_public_cross_encoder_scores_alike(tmp_path: Path, type_: str, layout: str) -> None:
    part = add_cross_encoder(tmp_path / "model", type_, pairs={"layout": layout})
    (read,) = parts_of(part)[0]
    assert form_of(read) == "cross-encoder"
    public = PublicCrossEncoder(exported(part, tmp_path / "out"), device="cpu")
    query = f"{TITLE}. {ABSTRACT}"
    if layout == "local":
        query = CONTEXT.replace("[CIT]", public.tokenizer.mask_token) + " " + query
    pairs = [(query, text) for text in texts_of(PAPERS)]
    ours = scores(
        part, Query("q", context=CONTEXT if layout == "local" else "", title=TITLE, abstract=ABSTRACT)
    )
    assert public.predict(pairs, activation_fn=torch.nn.Identity()) == pytest.approx(ours, abs=1e-5)
    assert public.predict(pairs) == pytest.approx(1 / (1 + np.exp(-ours)), abs=1e-5)
    assert abs(ours[0] - ours[1]) > 1e-3


def test_a_gap_token_of_its_own(tmp_path: Path) -> None:
    part = add_cross_encoder(tmp_path / "model", pairs={"gap": "[GAP]", "context": "last"})
    public = PublicCrossEncoder(exported(part, tmp_path / "out"), device="cpu")
    ours = scores(part, Query("q", context=CONTEXT, title=TITLE, abstract=ABSTRACT))
    query = f"{TITLE}. {ABSTRACT} {CONTEXT.replace('[CIT]', '[GAP]')}"
    pairs = [(query, text) for text in texts_of(PAPERS)]
    assert public.predict(pairs, activation_fn=torch.nn.Identity()) == pytest.approx(ours, abs=1e-5)


def test_bert_with_its_pooler_is_a_sequence_classifier(tmp_path: Path) -> None:
    part = add_cross_encoder(tmp_path / "model", pooled=True, pairs={"layout": "global"})
    (read,) = parts_of(part)[0]
    assert form_of(read) == "sequence-classification"
    folder = exported(part, tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model, report = AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), report
    tokens = tokenizer([f"{TITLE}. {ABSTRACT}"] * 2, texts_of(PAPERS), padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model(**tokens).logits[:, 0].numpy()
    ours = scores(part, Query("q", title=TITLE, abstract=ABSTRACT))
    assert logits == pytest.approx(ours, abs=1e-5)
    # What cocite trains on the export, it trains on the same weights and the same head.
    again = CrossEncoder.from_pretrained(import_of(tmp_path / "out", tmp_path / "again"))
    assert torch.equal(again.head.weight, CrossEncoder.load(part).head.weight)


def import_of(repository: Path, to: Path) -> Path:
    import_model(repository, to)
    return to


@pytest.mark.parametrize(
    ("type_", "options", "form"),
    [
        ("bert", {"readout": "similarity"}, "encoder"),
        ("bert", {"pooled": True, "readout": "similarity"}, "encoder"),
        ("roberta", {"pooled": True}, "encoder"),
    ],
)
def test_other_heads_have_no_public_form(
    tmp_path: Path, type_: str, options: dict[str, Any], form: str
) -> None:
    (read,) = parts_of(add_cross_encoder(tmp_path / "model", type_, **options))[0]
    assert form_of(read) == form


@pytest.mark.parametrize(
    "pooling", ["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
)
def test_a_public_sentence_encoder_gives_the_same_vectors(tmp_path: Path, pooling: str) -> None:
    prompts = {"query_prompt": "rare: ", "document_prompt": "words: "} if pooling == "cls" else {}
    part = add_sentence_encoder(tmp_path / "model", pooling=pooling, max_tokens=40, **prompts)
    public = SentenceTransformer(exported(part, tmp_path / "out"), device="cpu")
    texts = ["Rare words are split.", "units " * 100, "translation"]
    ours = load_sentence_encoder(part)
    for prompt, name in zip(("query_prompt", "document_prompt"), ("query", "document"), strict=True):
        vectors = ours.encode(texts, getattr(ours.settings, prompt))
        assert public.encode(texts, prompt_name=name if prompts else None) == pytest.approx(vectors, abs=1e-5)
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3
    assert public.max_seq_length == 40


def test_cocite_takes_an_exported_sentence_encoder_as_a_public_one(tmp_path: Path) -> None:
    part = add_sentence_encoder(tmp_path / "model", pooling="cls", query_prompt="rare: ", max_tokens=40)
    folder = exported(part, tmp_path / "out")
    save_sentence_encoder(
        tmp_path / "copy", SentenceRecipe.parse({"encoder": folder, "precision": "float32"}), {}
    )
    one, two = load_sentence_encoder(part), load_sentence_encoder(tmp_path / "copy")
    assert one.settings == two.settings
    assert np.array_equal(one.encode(["rare words"]), two.encode(["rare words"]))


def test_weights_that_are_no_safetensors(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_text("no")
    with pytest.raises(IntegrityError, match="model.safetensors: is no safetensors file"):
        restore_file("sequence-classification", tmp_path, "model.safetensors", tmp_path / "target")


def test_a_bi_encoder_is_published_as_it_is_kept(tmp_path: Path) -> None:
    backbone = small_bert("bert", max_position_embeddings=300).eval()
    BiEncoder(backbone, small_tokenizer(), "mean", 48).save(tmp_path / "model" / "bi-encoder", META)
    (read,) = parts_of(tmp_path / "model" / "bi-encoder")[0]
    assert form_of(read) == "sentence-transformers"
    public = SentenceTransformer(exported(read.folder, tmp_path / "out"), device="cpu")
    recipe = SentenceRecipe.parse({"encoder": str(read.folder), "precision": "float32"})
    save_sentence_encoder(tmp_path / "sentence", recipe, {})
    texts = texts_of(PAPERS)
    assert public.encode(texts) == pytest.approx(
        load_sentence_encoder(tmp_path / "sentence").encode(texts), abs=1e-5
    )
    import_model(tmp_path / "out", tmp_path / "back")
    for file in read.folder.rglob("*"):
        if file.is_file():
            assert (tmp_path / "back" / file.relative_to(read.folder)).read_bytes() == file.read_bytes()
