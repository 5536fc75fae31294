from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import seal, verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.manifests import read_manifest
from cocite.systems.masked_lm.texts import paper_texts
from cocite.systems.mp_bert4cr.sentence_texts import SentenceTextSettings, load, prepare
from cocite.text.sentence_texts import SentenceTexts, without_marks
from cocite.text.sentences import split_sentences
from cocite.text.token_lists import TokenLists

SETTINGS = SentenceTextSettings.parse(
    {"vocabulary": 500, "sentence_tokens": 24, "period": {"train_until": 2015}}
)
CAPPED = SETTINGS.model_copy(update={"body": 2, "stretch": 1})


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(200, seed=4, context_rate=2.0, sentences=True)


@pytest.fixture(scope="module")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "sentence-texts"
    assert prepare(SETTINGS, corpus, folder)
    return folder


@pytest.fixture(scope="module")
def texts(corpus: Corpus, folder: Path) -> SentenceTexts:
    return load(folder, corpus)


@pytest.fixture(scope="module")
def capped_folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capped") / "sentence-texts"
    assert prepare(CAPPED, corpus, folder)
    return folder


def read(texts: SentenceTexts, tokens: TokenLists, numbers: range) -> list[str]:
    return [texts.tokenizer.decode(tokens[i][:-1].tolist()) for i in numbers]


def expected(texts: SentenceTexts, sentences: list[str]) -> list[str]:
    """What is left of sentences when they are tokenised and cut to 24 tokens, the last one the end token."""
    ids = [texts.tokenizer(text, add_special_tokens=False)["input_ids"][:23] for text in sentences]
    return [texts.tokenizer.decode(some) for some in ids]


def test_all_sentences_of_all_papers_are_there(corpus: Corpus, texts: SentenceTexts) -> None:
    assert len(texts) == len(corpus)
    assert texts.abstracts.ids.dtype == np.uint16
    assert isinstance(texts.bodies.ids, np.memmap)
    for row in (0, 7, 150, 199):
        paper = corpus.paper(row)
        here = range(*texts.abstract_indptr[row : row + 2])
        assert read(texts, texts.abstracts, here) == expected(
            texts, [paper.title, *split_sentences([paper.abstract])[0]]
        )
        there = np.arange(*corpus.sentence_indptr[row : row + 2])
        here = range(*texts.body_indptr[row : row + 2])
        sentences = [without_marks(text) for text in corpus.sentences.take("text", there)]
        assert read(texts, texts.bodies, here) == expected(texts, sentences)
        positions = texts.body_positions[here.start : here.stop]
        assert positions.tolist() == corpus.sentences.column("position")[there].tolist()
        assert (np.diff(positions) > 0).all()
    end = texts.tokenizer.sep_token_id
    for lists in (texts.abstracts, texts.bodies):
        assert (lists.ids[lists.starts + lists.counts - 1] == end).all()
        assert lists.counts.max() == 24


def test_contexts_are_kept_where_their_sentence_is_not(
    corpus: Corpus, texts: SentenceTexts, capped_folder: Path
) -> None:
    assert len(texts.contexts) == len(corpus.contexts)
    assert not len(texts.contexts.sentences)
    assert np.array_equal(texts.context_citing, corpus.context_citing)
    capped = load(capped_folder, corpus)
    assert np.diff(capped.body_indptr).max() == 2
    missing = 0
    for number in range(len(corpus.contexts)):
        citing, position = capped.context_citing[number], capped.context_positions[number]
        here = capped.body_positions[capped.body_indptr[citing] : capped.body_indptr[citing + 1]]
        own = range(*capped.contexts.indptr[number : number + 2])
        assert bool(len(own)) == (position not in here)
        if len(own) and missing < 20:
            missing += 1
            split = split_sentences(corpus.contexts.take("text", [number]))[0]
            assert "TARGETCIT" in split[capped.contexts.gap[number]]
            assert read(capped, capped.contexts.sentences, own) == expected(
                capped, [without_marks(text) for text in split]
            )
    assert missing == 20


def test_they_are_made_once_and_the_same_each_time(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    digest = verify(folder).digest
    assert not list(folder.glob("*.raw"))
    assert not prepare(SETTINGS, corpus, folder)
    told: list[tuple[str, int]] = []
    done = []
    assert prepare(
        SETTINGS, corpus, tmp_path / "again", stage=lambda *what: told.append(what), advance=done.append
    )
    assert read_manifest(tmp_path / "again").digest == digest
    assert [name.split(": ")[1] for name, _ in told] == ["vocabulary", "abstracts", "bodies", "contexts"]
    assert sum(done) == sum(count for _, count in told)
    assert prepare(SETTINGS.model_copy(update={"title": False}), corpus, tmp_path / "again")
    assert read_manifest(tmp_path / "again").digest != digest


def test_later_papers_do_not_make_the_vocabulary(corpus: Corpus, texts: SentenceTexts) -> None:
    early = np.flatnonzero((corpus.years > 0) & (corpus.years <= 2015))
    words = {
        piece
        for block in paper_texts(corpus, early, 40)
        for text in block
        for piece in texts.tokenizer.tokenize(text)
    }
    learned = {
        piece for piece in texts.tokenizer.get_vocab() if len(piece.lstrip("#")) > 2 and piece[0] != "["
    }
    assert len(early) < len(corpus)
    # A piece that was merged on the way to a longer one need not be used itself.
    assert all(any(piece.lstrip("#") in word for word in words) for piece in learned)


def test_a_corpus_without_bodies_has_abstracts_and_contexts(
    synthetic: SyntheticCorpora, tmp_path: Path
) -> None:
    corpus = synthetic(120, seed=1, context_rate=1.0)
    assert prepare(SETTINGS, corpus, tmp_path / "texts")
    texts = load(tmp_path / "texts", corpus)
    assert len(texts.bodies) == 0
    assert (np.diff(texts.abstract_indptr) > 0).all()
    assert (np.diff(texts.contexts.indptr) > 0).all()


def test_what_does_not_fit_is_refused(
    corpus: Corpus, folder: Path, capped_folder: Path, synthetic: SyntheticCorpora, tmp_path: Path
) -> None:
    other = synthetic(120, seed=1, context_rate=1.0)
    with pytest.raises(InputError, match="of another corpus"):
        load(folder, other)
    shutil.copytree(capped_folder, tmp_path / "broken")
    shutil.copy(folder / "bodies.starts.npy", tmp_path / "broken" / "bodies.starts.npy")
    with pytest.raises(IntegrityError, match=r"bodies\.starts\.npy: damaged"):
        load(tmp_path / "broken", corpus)
    manifest = read_manifest(capped_folder)
    seal(tmp_path / "broken", kind=manifest.kind, meta=manifest.meta)
    with pytest.raises(IntegrityError, match="arrays of bodies do not fit"):
        load(tmp_path / "broken", corpus)
