"""Sentence-transformers folders, and plain ones of BGE's and SPECTER's form: their vectors are the public library's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.tiny_bert import tiny_bert
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import AutoTokenizer

from cocite.artifacts import publish
from cocite.corpus.builder import build
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError
from cocite.protocols import Query
from cocite.systems.sentence_encoder.encoder import KIND, SETTINGS, SentenceEncoder, load_sentence_encoder
from cocite.systems.sentence_encoder.recipe import SentenceRecipe, save_sentence_encoder

WORDS = "a parser of trees finds the words in each sentence and learns from them query passage".split()
PROMPTS = {"query": "query: find the words in ", "document": "passage: "}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain Hugging Face folder."""
    return tiny_bert(tmp_path_factory.mktemp("bert"), WORDS)


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 60, 12).tolist()
    texts = [(" ".join(rng.choice(WORDS, 4)), " ".join(rng.choice(WORDS, length))) for length in lengths]
    records = [PaperRecord(f"p{i}", title, abstract) for i, (title, abstract) in enumerate(texts)]
    return build(records, tmp_path_factory.mktemp("c") / "store")


def published(folder: Path, bert: Path, *modules: Any, **options: Any) -> Path:
    """A folder as sentence-transformers saves it."""
    reader = Transformer(str(bert), max_seq_length=40)
    SentenceTransformer(modules=[reader, *modules], device="cpu", **options).save(str(folder))
    return folder


def encoder(to: Path, source: Path, **recipe: Any) -> SentenceEncoder:
    save_sentence_encoder(to, SentenceRecipe(encoder=str(source), **recipe), {})
    return load_sentence_encoder(to, dtype=torch.float32)


def assert_as_published(
    ours: SentenceEncoder, theirs: SentenceTransformer, papers: Corpus, separator: str = ". "
) -> None:
    """Papers, contexts and manuscripts have the vectors that the public library gives them, each by its own method."""
    records = papers.papers_at(range(len(papers)))
    texts = [record.title + separator + record.abstract for record in records]
    gaps = [Query("g", record.abstract, record.title, record.abstract) for record in records]
    wholes = [Query("w", "", record.title, record.abstract) for record in records]
    documents = theirs.encode_document(texts, normalize_embeddings=True)
    contexts = theirs.encode_query([record.abstract for record in records], normalize_embeddings=True)
    same(ours.encode_papers(papers, np.arange(len(papers), dtype=np.int32)), documents)
    same(ours.encode_manuscripts(gaps), documents)
    same(ours.encode_queries(gaps), contexts)
    same(ours.encode_queries(wholes), theirs.encode_query(texts, normalize_embeddings=True))


def same(ours: NDArray[np.float32], theirs: NDArray[np.float32]) -> None:
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def differ(one: SentenceEncoder, other: SentenceEncoder) -> bool:
    texts = ["a parser of trees", "each sentence"]
    return bool(np.abs(one.encode(texts) - other.encode(texts)).max() > 1e-3)


@pytest.mark.parametrize(
    "pooling", ["mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
)
def test_each_pooling_is_the_librarys(pooling: Any, bert: Path, papers: Corpus, tmp_path: Path) -> None:
    source = published(tmp_path / "st", bert, Pooling(32, pooling), Normalize(), prompts=PROMPTS)
    ours = encoder(tmp_path / "ours", source)
    assert ours.settings.max_tokens == 40
    assert ours.settings.pooling == pooling
    assert_as_published(ours, SentenceTransformer(str(source), device="cpu"), papers)


def test_the_form_of_bge(bert: Path, papers: Corpus, tmp_path: Path) -> None:
    """CLS, unit vectors, an instruction before queries alone: as a folder of the library, and as a plain one."""
    instruction = {"query": "find the words in each sentence: "}
    source = published(tmp_path / "st", bert, Pooling(32, "cls"), Normalize(), prompts=instruction)
    theirs = SentenceTransformer(str(source), device="cpu")
    ours = encoder(tmp_path / "ours", source)
    assert_as_published(ours, theirs, papers)
    by_hand = encoder(
        tmp_path / "by-hand", bert, pooling="cls", query_prompt=instruction["query"], max_tokens=40
    )
    assert_as_published(by_hand, theirs, papers)
    assert differ(ours, encoder(tmp_path / "mean", bert))


def test_the_form_of_specter(bert: Path, papers: Corpus, tmp_path: Path) -> None:
    """CLS over ``title[SEP]abstract``: a plain folder, and as the library publishes it, without Normalize."""
    source = published(tmp_path / "st", bert, Pooling(32, "cls"))
    theirs = SentenceTransformer(str(source), device="cpu")
    ours = encoder(tmp_path / "ours", bert, pooling="cls", separator="[SEP]", max_tokens=40)
    assert_as_published(ours, theirs, papers, "[SEP]")
    assert_as_published(encoder(tmp_path / "two", source, separator="[SEP]"), theirs, papers, "[SEP]")


def test_an_old_folder_with_a_subfolder_lower_case_and_a_default_prompt(
    bert: Path, papers: Corpus, tmp_path: Path
) -> None:
    source = tmp_path / "old"
    AutoTokenizer.from_pretrained(bert, do_lower_case=False).save_pretrained(source / "0_Transformer")
    for name in ("config.json", "model.safetensors"):
        (source / "0_Transformer" / name).write_bytes((bert / name).read_bytes())
    (source / "1_Pooling").mkdir()
    kinds = {"0_Transformer": "Transformer", "1_Pooling": "Pooling"}
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds.items())
    ]
    (source / "modules.json").write_text(json.dumps(modules))
    reading = {"max_seq_length": 24, "do_lower_case": True}
    (source / "0_Transformer" / "sentence_bert_config.json").write_text(json.dumps(reading))
    pooling = {
        "word_embedding_dimension": 32,
        "pooling_mode_cls_token": True,
        "pooling_mode_mean_tokens": False,
    }
    (source / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    general = {"prompts": {"task": "query in trees: "}, "default_prompt_name": "task"}
    (source / "config_sentence_transformers.json").write_text(json.dumps(general))
    ours = encoder(tmp_path / "ours", source)
    assert (ours.settings.max_tokens, ours.settings.pooling, ours.settings.lower_case) == (24, "cls", True)
    assert ours.settings.query_prompt == ours.settings.document_prompt == "query in trees: "
    theirs = SentenceTransformer(str(source), device="cpu")
    texts = ["A Parser of TREES", "the words " * 30]
    same(ours.encode(texts, "query in trees: "), theirs.encode(texts, normalize_embeddings=True))
    same(ours.encode(texts[:1]), ours.encode([texts[0].lower()]))


def test_a_default_prompt_of_queries_is_not_for_papers(bert: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    source = published(tmp_path / "st", bert, Pooling(32, "mean"), **options)
    general = json.loads((source / "config_sentence_transformers.json").read_text())
    del general["prompts"]["document"]
    (source / "config_sentence_transformers.json").write_text(json.dumps(general))
    settings = encoder(tmp_path / "ours", source).settings
    assert (settings.query_prompt, settings.document_prompt) == ("query: ", "")
    settings = encoder(tmp_path / "ours", source, query_prompt="", pooling="max", max_tokens=12).settings
    assert (settings.query_prompt, settings.pooling, settings.max_tokens) == ("", "max", 12)


def test_an_artifact_without_a_pooling_uses_the_mean(bert: Path, tmp_path: Path) -> None:
    new = encoder(tmp_path / "new", bert)
    assert new.settings.max_tokens == 128
    with publish(tmp_path / "old", kind=KIND, meta={}) as folder:
        shutil.copytree(
            tmp_path / "new", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("manifest.json")
        )
        (folder / SETTINGS).write_text('{"max_tokens": 128}\n')
    old = load_sentence_encoder(tmp_path / "old", dtype=torch.float32)
    assert old.settings == new.settings
    assert not differ(old, new)


@pytest.mark.parametrize(
    ("modules", "options", "message"),
    [
        (
            [Pooling(32, "mean"), Dense(32, 16)],
            {},
            r"its module sentence_transformers\.\S+\.Dense is not supported",
        ),
        ([Pooling(32, "mean"), Normalize(), Dense(32, 16)], {}, r"its module \S+\.Dense is not supported"),
        (
            [Pooling(32, ("cls", "max"))],
            {},
            "its module Pooling asks for cls and max, which is not supported",
        ),
        (
            [Pooling(32, "mean", include_prompt=False)],
            {"prompts": PROMPTS},
            "leaves out the tokens of prompts",
        ),
        ([Pooling(32, "mean")], {"similarity_fn_name": "dot"}, "compares vectors by dot"),
        (
            [Pooling(32, "mean"), Normalize()],
            {"similarity_fn_name": "manhattan"},
            "compares vectors by manhattan",
        ),
    ],
)
def test_what_is_not_computed_is_refused_by_name(
    modules: list[Any], options: dict[str, Any], message: str, bert: Path, tmp_path: Path
) -> None:
    source = published(tmp_path / "st", bert, *modules, **options)
    with pytest.raises(InputError, match=message):
        encoder(tmp_path / "ours", source)
    assert not (tmp_path / "ours").exists()


def test_a_folder_that_compares_by_dot_product_is_compared_by_cosine_when_told_so(
    bert: Path, papers: Corpus, tmp_path: Path
) -> None:
    source = published(tmp_path / "st", bert, Pooling(32, "mean"), similarity_fn_name="dot")
    ours = encoder(tmp_path / "ours", source, normalize=True)
    assert_as_published(ours, SentenceTransformer(str(source), device="cpu"), papers)
    unit = published(tmp_path / "unit", bert, Pooling(32, "mean"), Normalize(), similarity_fn_name="dot")
    assert not differ(ours, encoder(tmp_path / "again", unit))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ('{"type": 1}', "no list of modules"),
        ('[{"type": "sentence_transformers.models.Transformer", "path": ""}]', "has no module Pooling"),
        ('[{"type": "modeling_x.Own", "path": ""}]', r"its module modeling_x\.Own is not supported"),
    ],
)
def test_a_broken_list_of_modules_is_one_sentence(
    content: str, message: str, bert: Path, tmp_path: Path
) -> None:
    source = published(tmp_path / "st", bert, Pooling(32, "mean"))
    (source / "modules.json").write_text(content)
    with pytest.raises(CociteError, match=message):
        encoder(tmp_path / "ours", source)
