"""Which citations are trained on, and their tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora
from transformers import AutoTokenizer

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.systems.bi_encoder.citations import (
    KIND,
    NO_CONTEXT,
    CitationTextSettings,
    CitationTokenSettings,
    load,
    prepare,
)
from cocite.text.gaps import strip_marks
from cocite.text.paper_text import paper_text
from cocite.training.periods import Periods, PeriodSettings


def settings_of(encoder: Path, task: str) -> CitationTokenSettings:
    texts = CitationTextSettings.parse({"task": task, "max_tokens": 24, "dev_queries": 30})
    return CitationTokenSettings.of(PeriodSettings(), texts, str(encoder))


@pytest.mark.parametrize("task", ["local", "global", "both"])
def test_the_citations_are_those_of_the_training_period(
    corpus: Corpus, encoder: Path, tmp_path: Path, task: str
) -> None:
    settings = settings_of(encoder, task)
    assert prepare(settings, corpus, tmp_path / KIND)
    assert not prepare(settings, corpus, tmp_path / KIND)  # they are there
    tokens = load(tmp_path, corpus, settings)
    periods = Periods.of(corpus, settings.period, all_dev=True)
    training = set(np.flatnonzero(periods.history.citing).tolist())
    whole = tokens.context == NO_CONTEXT
    found = set(zip(tokens.citing[whole].tolist(), tokens.cited[whole].tolist(), strict=True))
    links = {(paper, cited) for paper in training for cited in corpus.cites[paper].tolist()}
    assert found == (links if task != "local" else set())
    assert whole.all() == (task == "global")
    contexts = corpus.contexts.column("citing")
    expected = [
        (int(citing), cited)
        for citing, row in zip(contexts.tolist(), range(len(contexts)), strict=True)
        if citing in training
        for cited in corpus.contexts.lists("cited")[row].tolist()
        if cited != citing
    ]
    of_contexts = zip(tokens.citing[~whole].tolist(), tokens.cited[~whole].tolist(), strict=True)
    assert sorted(of_contexts) == (sorted(expected) if task != "global" else [])
    assert not set(tokens.dev.citing.tolist()) & training
    for i, paper in enumerate(tokens.dev.citing.tolist()):
        assert set(tokens.dev.cited[i].tolist()) <= set(corpus.cites[paper].tolist())


def test_texts_are_cut_as_a_sentence_encoder_cuts_them(corpus: Corpus, encoder: Path, tmp_path: Path) -> None:
    settings = settings_of(encoder, "both")
    prepare(settings, corpus, tmp_path / KIND)
    tokens = load(tmp_path, corpus, settings)
    tokenizer = AutoTokenizer.from_pretrained(str(encoder))
    examples = np.array([0, len(tokens.citing) // 2, len(tokens.citing) - 1])
    queries = tokens.queries(tokens.citing[examples], np.asarray(tokens.context[examples]))
    texts = {strip_marks(text) for text in corpus.contexts.take("text", range(len(corpus.contexts)))}
    titles, abstracts = (corpus.papers.take(name, tokens.citing[examples]) for name in ("title", "abstract"))
    for i in range(len(examples)):
        of_paper = paper_text(titles[i], abstracts[i])
        wanted = [of_paper] if tokens.context[examples[i]] == NO_CONTEXT else sorted(texts)
        cut = [tokenizer(text, truncation=True, max_length=24)["input_ids"] for text in wanted]
        assert queries[i].tolist() in cut
    assert tokens.papers.counts.max() <= 24


def test_a_corpus_without_contexts_is_refused_for_local_queries(
    synthetic: SyntheticCorpora, encoder: Path, tmp_path: Path
) -> None:
    bare = synthetic(300, seed=5, context_rate=0.0)
    with pytest.raises(InputError, match=r"no local query of the train period cites .*task=global"):
        prepare(settings_of(encoder, "local"), bare, tmp_path / KIND)
    assert prepare(settings_of(encoder, "global"), bare, tmp_path / KIND)


def test_citations_of_other_settings_are_refused(corpus: Corpus, encoder: Path, tmp_path: Path) -> None:
    settings = settings_of(encoder, "local")
    with pytest.raises(NotFoundError, match="holds no citations to train on"):
        load(tmp_path, corpus, settings)
    prepare(settings, corpus, tmp_path / KIND)
    with pytest.raises(InputError, match="tokens"):
        load(tmp_path, corpus, settings_of(encoder, "both"))
    # The tokenizer decides, not where it was read.
    assert load(tmp_path, corpus, settings.model_copy(update={"encoder": "elsewhere"}))
