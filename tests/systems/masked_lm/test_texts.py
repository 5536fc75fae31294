"""A corpus' own texts as pieces of tokens."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.small_masked_lm import masked_lm_recipe
from helpers.synthetic import SyntheticCorpora

from cocite.artifacts import seal, verify
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.manifests import read_manifest
from cocite.systems.masked_lm.texts import (
    TextSettings,
    cut_pieces,
    load,
    load_from_model_folder,
    paper_texts,
    prepare,
)
from cocite.text.token_lists import TokenLists
from cocite.text.wordpiece import train_wordpiece


def test_texts_are_titles_abstracts_and_some_of_the_body(corpus: Corpus) -> None:
    rows = np.arange(20)
    bare = [text for block in paper_texts(corpus, rows, 0) for text in block]
    whole = [text for block in paper_texts(corpus, rows, 6) for text in block]
    for row, (short, long) in enumerate(zip(bare, whole, strict=True)):
        paper = corpus.paper(row)
        assert short.startswith(paper.title)
        assert paper.abstract in short
        assert long.startswith(short)
        assert "CIT" not in long
    many = int(np.diff(corpus.sentence_indptr).argmax())
    assert np.diff(corpus.sentence_indptr)[many] > 6
    few, all_ = (next(paper_texts(corpus, np.array([many]), body))[0] for body in (6, 1000))
    assert len(few) < len(all_)


def test_pieceshold_all_of_a_text_and_fit() -> None:
    counts = np.array([70, 5, 0, 31, 30])
    lists = TokenLists.of([list(range(n)) for n in counts])
    found = cut_pieces(lists, TextSettings(sequence=32, least=6))
    assert found.counts.tolist() == [23, 23, 24, 15, 16, 30]
    assert np.concatenate([found[i] for i in range(3)]).tolist() == list(range(70))


def test_they_are_made_once_and_the_same_each_time(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    digest = verify(folder / "pretraining-texts").digest
    assert not prepare(masked_lm_recipe().texts, corpus, folder / "pretraining-texts")
    assert prepare(masked_lm_recipe().texts, corpus, tmp_path / "again")
    assert read_manifest(tmp_path / "again").digest == digest
    assert prepare(masked_lm_recipe(texts={"body": 0}).texts, corpus, tmp_path / "again")
    assert read_manifest(tmp_path / "again").digest != digest
    texts = load(folder / "pretraining-texts", corpus)
    assert len(texts.tokenizer) <= 400
    assert texts.train.counts.max() <= 30
    assert len(texts.dev) == 20


def test_dev_texts_do_not_make_the_vocabulary(corpus: Corpus, folder: Path) -> None:
    rows = np.flatnonzero((corpus.years > 0) & (corpus.years <= 2015))
    wanted = train_wordpiece(lambda: [text for block in paper_texts(corpus, rows, 6) for text in block], 400)
    assert load(folder / "pretraining-texts", corpus).tokenizer.get_vocab() == wanted.get_vocab()


def test_papers_without_text_are_refused_and_leave_nothing(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no paper of the train period has text enough"):
        texts = masked_lm_recipe().texts.model_copy(update={"sequence": 60_000, "least": 50_000})
        prepare(texts, corpus, tmp_path / "texts")
    assert not (tmp_path / "texts").exists()


def test_texts_of_another_corpus_and_damaged_arrays_are_refused(
    corpus: Corpus, folder: Path, synthetic: SyntheticCorpora, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="the texts are of another corpus"):
        load(folder / "pretraining-texts", synthetic(120, seed=1, context_rate=1.0))
    with pytest.raises(NotFoundError, match="holds no texts to pretrain on"):
        load_from_model_folder(tmp_path, corpus)
    shutil.copytree(folder / "pretraining-texts", tmp_path / "texts")
    manifest = read_manifest(tmp_path / "texts")
    np.save(tmp_path / "texts" / "dev.counts.npy", np.array([1, 2, 3]))
    with pytest.raises(IntegrityError, match=r"dev\.counts\.npy: damaged"):
        load(tmp_path / "texts", corpus)
    seal(tmp_path / "texts", kind=manifest.kind, meta=manifest.meta)
    with pytest.raises(IntegrityError, match="the arrays of dev do not fit each other"):
        load(tmp_path / "texts", corpus)


def test_steps_and_papers_are_reported(corpus: Corpus, tmp_path: Path) -> None:
    stages: list[tuple[str, int]] = []
    done: list[int] = []
    texts = masked_lm_recipe().texts
    prepare(texts, corpus, tmp_path / "texts", stage=lambda *what: stages.append(what), advance=done.append)
    assert [name for name, _ in stages] == ["texts: vocabulary", "texts: train papers", "texts: dev papers"]
    assert sum(done) == sum(count for _, count in stages)
