"""MP-BERT4CR as an encoder of a model folder: loaded as saved, and vectors that do not depend on the batch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.builder import build as build_corpus
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.pipeline import components
from cocite.protocols import BodyReader, Encoder, Query
from cocite.retrieval.index.index import Index
from cocite.retrieval.vector_retriever import VectorRetriever
from cocite.systems.mp_bert4cr import encoder as module
from cocite.systems.mp_bert4cr.dynamic_context import DynamicContextSettings
from cocite.systems.mp_bert4cr.encoder import (
    MpBert4crConfig,
    MpBert4crEncoder,
    load_mp_bert4cr_encoder,
    save_mp_bert4cr,
)
from cocite.systems.mp_bert4cr.network import MpBert4cr, MpBert4crModelSettings
from cocite.text.documents import Documents
from cocite.text.queries import context_queries, manuscript_queries
from cocite.text.wordpiece import train_wordpiece

MODEL = MpBert4crModelSettings(
    sentence_layers=1,
    document_layers=1,
    hidden=16,
    heads=2,
    inner=32,
    dropout=0.0,
    norm="pre",
    sentence_tokens=24,
    sentences=12,
    shared_words=True,
)

CONTEXTS = DynamicContextSettings(earlier=3, abstract=3, body=2)


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(80, seed=4, context_rate=2.0, sentences=True)


@pytest.fixture(scope="module")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    texts = corpus.papers.take("abstract", np.arange(len(corpus)))
    tokenizer = train_wordpiece(lambda: texts, 400)
    torch.manual_seed(0)
    model = MpBert4cr(MODEL, len(tokenizer))
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    config = MpBert4crConfig(model=MODEL, contexts=CONTEXTS, sentence_tokens=24, title=True)
    save_mp_bert4cr(folder / "mp-bert4cr", model, tokenizer, config, {})
    return folder


@pytest.fixture(scope="module")
def encoder(folder: Path) -> MpBert4crEncoder:
    return load_mp_bert4cr_encoder(folder, dtype=torch.float32)


def test_it_is_an_encoder_of_the_model_folder(folder: Path, corpus: Corpus) -> None:
    (encoder,) = components.load_encoders(folder)
    assert isinstance(encoder, Encoder)
    assert isinstance(encoder, BodyReader)
    assert (encoder.name, encoder.dimension, len(encoder.id)) == ("mp-bert4cr", 16, 16)
    index = Index.build(corpus, History.all(corpus), encoders=[encoder])
    queries = context_queries(corpus, np.arange(6))
    retriever = VectorRetriever(index, encoder)
    assert retriever.search(queries, 5).rows.shape == (6, 5)
    # What stands before a gap is read where the index knows the manuscript.
    with_bodies, without = retriever.encode(queries)["mp-bert4cr"], encoder.encode_queries(queries)
    assert not np.allclose(with_bodies, without)
    np.testing.assert_array_equal(with_bodies, encoder.reading(corpus).encode_queries(queries))


def test_vectors_are_unit_and_do_not_hang_on_the_batch(corpus: Corpus, encoder: MpBert4crEncoder) -> None:
    rows = np.arange(len(corpus), dtype=np.int32)
    together = encoder.encode_papers(corpus, rows)
    assert together == pytest.approx(encoder.encode_papers(corpus, rows), abs=0)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(encoder.encode_papers(corpus, rows[[40, 3]]), together[[40, 3]], atol=1e-5)
    reading, queries = encoder.reading(corpus), context_queries(corpus, np.arange(20))
    queries += manuscript_queries(corpus, np.arange(3))
    vectors = reading.encode_queries(queries)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-5)
    for place in (0, 7, 21):
        np.testing.assert_allclose(
            reading.encode_queries([queries[place]])[0], vectors[place], atol=1e-5, err_msg=str(place)
        )


def test_papers_are_read_by_their_ids(corpus: Corpus, encoder: MpBert4crEncoder, tmp_path: Path) -> None:
    """In another corpus, where the same papers have other rows, they have the same vectors."""
    from cocite.corpus.records import PaperRecord, SentenceRecord

    class Later:
        format = "test"
        place = Synthetic(1).position

        def settings(self) -> dict[str, object]:
            return {}

        def __iter__(self):  # type: ignore[no-untyped-def]
            yield PaperRecord("other", "a title", "an abstract", 1990, "", (), (), "", "", ())
            for record in Synthetic(80, seed=4, context_rate=2.0, sentences=True):
                if isinstance(record, PaperRecord | SentenceRecord):
                    yield record

    moved = build_corpus(Later(), tmp_path / "moved")
    ids = corpus.ids(np.arange(10, 20))
    rows = moved.find(ids)
    assert (rows != np.arange(10, 20)).all()
    np.testing.assert_allclose(
        encoder.encode_papers(moved, rows),
        encoder.encode_papers(corpus, np.arange(10, 20, dtype=np.int32)),
        atol=1e-5,
    )


def test_a_draft_from_outside_is_read(corpus: Corpus, encoder: MpBert4crEncoder) -> None:
    draft = Query(
        "draft",
        "We study parsing. Earlier work TARGETCIT did so with grammars. We do not.",
        "A title",
        "An abstract of a sentence. And of another one.",
    )
    reading = encoder.reading(corpus)
    vector = encoder.encode_queries([draft])
    np.testing.assert_array_equal(vector, reading.encode_queries([draft]))
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
    for change in (
        {"context": "Another sentence with TARGETCIT in it."},
        {"abstract": "Something else is said here."},
    ):
        assert not np.allclose(encoder.encode_queries([replace(draft, **change)]), vector)
    same = [replace(draft, id="again"), replace(draft, context="We study parsing. Earlier work [CIT] did so with "
            "grammars. We do not.")]  # fmt: skip
    np.testing.assert_allclose(encoder.encode_queries(same)[0], vector[0], atol=1e-6)
    bare = encoder.encode_queries(
        [Query("q", "TARGETCIT"), Query("q", "", "A title"), Query("q", "", "", "")]
    )
    assert np.isfinite(bare).all()
    assert encoder.encode_queries([]).shape == (0, 16)


def test_titles_are_read_where_the_settings_say_so(encoder: MpBert4crEncoder) -> None:
    drafts = [Query("q", "", title, "An abstract of a sentence.") for title in ("Parsing", "Neural models")]
    without = MpBert4crEncoder(
        encoder.model,
        encoder.tokenizer,
        encoder.config.model_copy(update={"title": False}),
        dtype=torch.float32,
    )
    one, other = without.encode_queries(drafts)
    np.testing.assert_allclose(one, other, atol=1e-6)
    one, other = encoder.encode_queries(drafts)
    assert not np.allclose(one, other)
    alone = without.encode_queries([Query("q", "", "A title", "")])
    assert np.linalg.norm(alone) == pytest.approx(1, abs=1e-5), "nothing is read, and there is a vector"


def test_papers_are_computed_by_a_budget_of_tokens(
    encoder: MpBert4crEncoder, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, tokens = np.arange(60, dtype=np.int32), list[int]()
    whole = encoder.encode_papers(corpus, rows)
    encode = encoder.model.papers

    def counted(documents: Documents) -> torch.Tensor:
        tokens.append(len(documents.ids))
        return encode(documents)

    monkeypatch.setattr(module, "TOKENS", 200)
    monkeypatch.setattr(encoder.model, "papers", counted)
    assert encoder.encode_papers(corpus, rows) == pytest.approx(whole, abs=1e-5)
    assert len(tokens) > 3
    assert max(tokens) <= 200
