"""Vectors of texts and papers in the retriever's blocks: those of the encoder, whatever is computed together."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.served_texts import texts_folders

from cocite.errors import InputError
from cocite.pipeline.first_stage import FirstStage
from cocite.protocols import Query
from cocite.retrieval.index.opening import open_index
from cocite_serve.http.text_work import EmbedWork
from cocite_serve.replicas.embeddings import Embed, facts_of
from cocite_serve.replicas.query_blocks import QueryBlocks

TEXTS = tuple(Query("q", title=title) for title in ("parsing", "translation of words", "vectors"))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> FirstStage:
    model, index = texts_folders(tmp_path_factory.mktemp("embeddings"))
    return FirstStage.load(model, open_index(index))


def test_texts_of_several_jobs_get_the_encoders_vectors(stage: FirstStage) -> None:
    blocks, first, second = QueryBlocks(stage), *(Embed(EmbedWork("sentence", TEXTS[:n])) for n in (3, 2))
    assert first.group == second.group
    blocks.read([(first, 2), (second, 1)])
    blocks.read([(second, 1), (first, 1)])
    expected = stage.signals.encoders["sentence"].encoder.encode_queries(TEXTS)
    np.testing.assert_allclose(blocks.close(first, 3), expected, atol=1e-5)
    np.testing.assert_allclose(blocks.close(second, 2), expected[:2], atol=1e-5)


def test_a_text_costs_the_tokens_that_are_read_of_it_and_a_paper_of_the_index_next_to_nothing(
    stage: FirstStage,
) -> None:
    texts = ("parsing", "parsing parsing", "parsing " * 40, "")
    job = Embed(EmbedWork("sentence", tuple(Query("q", title=title) for title in texts)))
    assert QueryBlocks(stage).open(job).tolist() == [3, 4, 32, 2], "with the two special ones, and 32 at most"
    assert QueryBlocks(stage).open(Embed(EmbedWork("sentence", rows=(7, 3)))).tolist() == [1, 1]


def test_an_encoder_that_counts_no_tokens_is_paid_by_the_words() -> None:
    class Ones:
        name, id, dimension = "ones", "1f2e", 1

    stage: Any = SimpleNamespace(signals=SimpleNamespace(encoders={"ones": SimpleNamespace(encoder=Ones())}))
    queries = (Query("q", title="two words", abstract="and three more"), Query("q"))
    assert Embed(EmbedWork("ones", queries)).costs(stage).tolist() == [5, 1]


def test_papers_have_the_vectors_of_the_index(stage: FirstStage) -> None:
    job = Embed(EmbedWork("sentence", rows=(7, 3, 7)))
    job.compute(stage, [(job, 3)])
    np.testing.assert_array_equal(job.result(), stage.index.paper_vectors("sentence")[[7, 3, 7]])
    [paper] = stage.index.corpus.papers_at(np.array([7]))
    text = Embed(
        EmbedWork("sentence", (Query("q", title=paper.title, abstract=paper.abstract),), as_papers=True)
    )
    text.compute(stage, [(text, 1)])
    np.testing.assert_allclose(text.result()[0], job.result()[0], atol=0.01)


def test_what_is_encoded_in_another_way_is_of_another_group() -> None:
    group = Embed(EmbedWork("sentence", TEXTS)).group
    others = (
        EmbedWork("hatten", TEXTS),
        EmbedWork("sentence", TEXTS, as_papers=True),
        EmbedWork("sentence", TEXTS, whole=True),
        EmbedWork("sentence", rows=(1,)),
    )
    assert len({group, *(Embed(work).group for work in others)}) == 5


def test_a_text_that_would_be_cut_is_refused_where_that_is_wanted(stage: FirstStage) -> None:
    long = Embed(EmbedWork("sentence", (Query("q", title="words " * 40),), whole=True))
    with pytest.raises(InputError, match="texts: a text has 42 tokens, and sentence reads 32"):
        long.compute(stage, [(long, 1)])


def test_the_facts_of_the_encoders(stage: FirstStage) -> None:
    [facts] = facts_of(stage)
    assert (facts.name, facts.dimension, facts.max_tokens, facts.encodes_papers, facts.pooling) == (
        "sentence",
        32,
        32,
        True,
        "mean",
    )
    assert facts.id == stage.index.encoder_ids["sentence"]


def test_an_index_alone_has_no_encoders(tmp_path: Path) -> None:
    _, index = texts_folders(tmp_path)
    assert facts_of(FirstStage(open_index(index))) == ()
