"""Pretraining on one's own texts: the vocabulary, the pieces, what is hidden, and what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from cocite.artifacts import verify
from cocite.corpus.builder import build as build_corpus
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import ConfigError, InputError, NotFoundError
from cocite.manifests import read_manifest
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.systems.masked_lm.task import (
    MaskedLanguageModelRecipe,
    MaskedLanguageModelTask,
    build,
)
from cocite.systems.masked_lm.texts import TextSettings, load, pieces, prepare, texts_of
from cocite.text.pair_tokenizer import PairSettings
from cocite.text.token_lists import TokenLists
from cocite.text.wordpiece import train_wordpiece
from cocite.training.engine.loop import train
from cocite.training.engine.world import World


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build_corpus(
        Synthetic(300, seed=4, context_rate=2.0, sentences=True), tmp_path_factory.mktemp("texts") / "corpus"
    )


def recipe(**sections: Any) -> MaskedLanguageModelRecipe:
    data: dict[str, dict[str, Any]] = {
        "texts": {
            "vocabulary": 400,
            "sequence": 32,
            "body": 6,
            "dev_pieces": 20,
            "period": {"train_until": 2015},
        },
        "model": {"hidden": 32, "layers": 2, "heads": 4, "inner": 64, "positions": 64},
        "training": {"batch": 16, "tokens": 512, "optimizer": {"learning_rate": 3e-3}},
    }
    for name, values in sections.items():
        data[name] = {**data.get(name, {}), **values}
    return MaskedLanguageModelRecipe.parse({"kind": "masked-lm", **data})


@pytest.fixture(scope="module")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with texts."""
    folder = tmp_path_factory.mktemp("model")
    assert prepare(recipe().texts, corpus, folder / "pretraining-texts")
    return folder


@pytest.fixture
def task(corpus: Corpus, folder: Path) -> MaskedLanguageModelTask:
    return build(recipe(), corpus, folder)


def test_texts_are_titles_abstracts_and_some_of_the_body(corpus: Corpus) -> None:
    rows = np.arange(20)
    bare = [text for block in texts_of(corpus, rows, 0) for text in block]
    whole = [text for block in texts_of(corpus, rows, 6) for text in block]
    for row, (short, long) in enumerate(zip(bare, whole, strict=True)):
        paper = corpus.paper(row)
        assert short.startswith(paper.title)
        assert paper.abstract in short
        assert long.startswith(short)
        assert "CIT" not in long
    many = int(np.diff(corpus.sentence_indptr).argmax())
    assert np.diff(corpus.sentence_indptr)[many] > 6
    few, all_ = (next(texts_of(corpus, np.array([many]), body))[0] for body in (6, 1000))
    assert len(few) < len(all_)


def test_pieces_hold_all_of_a_text_and_fit() -> None:
    counts = np.array([70, 5, 0, 31, 30])
    lists = TokenLists.of([list(range(n)) for n in counts])
    found = pieces(lists, TextSettings(sequence=32, least=6))
    assert found.counts.tolist() == [23, 23, 24, 15, 16, 30]
    assert np.concatenate([found[i] for i in range(3)]).tolist() == list(range(70))


def test_they_are_made_once_and_the_same_each_time(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    digest = verify(folder / "pretraining-texts").digest
    assert not prepare(recipe().texts, corpus, folder / "pretraining-texts")
    assert prepare(recipe().texts, corpus, tmp_path / "again")
    assert read_manifest(tmp_path / "again").digest == digest
    assert prepare(recipe(texts={"body": 0}).texts, corpus, tmp_path / "again")
    assert read_manifest(tmp_path / "again").digest != digest
    texts = load(folder / "pretraining-texts", corpus)
    assert len(texts.tokenizer) <= 400
    assert texts.train.counts.max() <= 30
    assert len(texts.dev) == 20


def test_dev_texts_do_not_make_the_vocabulary(corpus: Corpus, folder: Path) -> None:
    rows = np.flatnonzero((corpus.years > 0) & (corpus.years <= 2015))
    wanted = train_wordpiece(lambda: [text for block in texts_of(corpus, rows, 6) for text in block], 400)
    assert load(folder / "pretraining-texts", corpus).tokenizer.get_vocab() == wanted.get_vocab()


def test_papers_without_text_are_told_and_leave_nothing(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no paper of the train period has text enough"):
        texts = recipe().texts.model_copy(update={"sequence": 60_000, "least": 50_000})
        prepare(texts, corpus, tmp_path / "texts")
    assert not (tmp_path / "texts").exists()


def test_what_is_hidden_is_a_share_and_can_be_told(task: MaskedLanguageModelTask) -> None:
    examples = np.arange(len(task.texts.train))
    batch = task.collate(examples, 0)
    tokenizer, pieces_ = task.texts.tokenizer, task.texts.train
    hidden, ids = batch.hidden.numpy(), batch.ids.numpy()
    assert hidden.any(axis=1).all()
    assert hidden.sum() / pieces_.counts.sum() == pytest.approx(0.15, abs=0.01)
    true = ids.copy()
    true[hidden] = batch.answers.numpy()
    for i in (0, 5):
        assert true[i][batch.mask[i]].tolist() == [
            tokenizer.cls_token_id,
            *pieces_[i].tolist(),
            tokenizer.sep_token_id,
        ]
    assert (ids == true)[~hidden].all()
    masked = (ids[hidden] == tokenizer.mask_token_id).mean()
    kept = (ids[hidden] == true[hidden]).mean()
    assert masked == pytest.approx(0.8, abs=0.03)
    assert kept == pytest.approx(0.1, abs=0.03)


def test_what_is_hidden_hangs_on_seed_epoch_and_example_alone(
    task: MaskedLanguageModelTask, corpus: Corpus, folder: Path
) -> None:
    together = task.collate(np.array([4, 9, 2]), 3)
    alone = task.collate(np.array([9]), 3)
    width = alone.ids.shape[1]
    assert torch.equal(together.ids[1, :width], alone.ids[0])
    assert torch.equal(together.hidden[1, :width], alone.hidden[0])
    assert not torch.equal(task.collate(np.array([9]), 4).hidden, alone.hidden)
    other = build(recipe(training={"seed": 1}), corpus, folder)
    assert not torch.equal(other.collate(np.array([9]), 3).hidden, alone.hidden)


def test_the_loss_of_an_example_is_that_of_its_hidden_tokens(task: MaskedLanguageModelTask) -> None:
    task.model.eval()
    with torch.no_grad():
        found = task.loss(task.model, task.collate(np.arange(5), 0))
        for i in range(5):
            batch = task.collate(np.array([i]), 0)
            logs = task.model(batch).log_softmax(1)
            wanted = -logs[torch.arange(len(logs)), batch.answers].mean()
            torch.testing.assert_close(found[i], wanted, rtol=1e-4, atol=1e-5)


def test_a_short_training_tells_tokens_better_and_leaves_a_trunk_for_a_cross_encoder(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    chosen = recipe(training={"steps": 30})
    task = build(chosen, corpus, folder)
    seen: list[dict[str, float]] = []
    train(task, chosen.training, world=World(), log=lambda m, _: seen.append(m) if "accuracy" in m else None)
    assert seen[-1]["dev loss"] < seen[0]["dev loss"] - 0.3
    assert seen[-1]["accuracy"] > seen[0]["accuracy"]
    task.export(tmp_path / "masked-lm", {"dev": seen[-1]})
    trunk, tokenizer = (kind.from_pretrained(tmp_path / "masked-lm") for kind in (AutoModel, AutoTokenizer))
    assert torch.equal(
        trunk.embeddings.word_embeddings.weight, task.model.bert.bert.embeddings.word_embeddings.weight
    )
    assert tokenizer.tokenize("parsing") == task.texts.tokenizer.tokenize("parsing")
    pairs = PairSettings(query_tokens=30, candidate_tokens=24, context_tokens=16)
    model = CrossEncoder.from_pretrained(tmp_path / "masked-lm", pairs)
    assert model.trunk.config.num_hidden_layers == 2


def test_mistakes_are_told(corpus: Corpus, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="holds no texts to pretrain on"):
        build(recipe(), corpus, tmp_path)
    with pytest.raises(ConfigError, match=r"texts\.sequence is 128, and the model reads 64"):
        build(recipe(texts={"sequence": 128}), corpus, folder)
    with pytest.raises(ConfigError, match="5 heads do not divide a width of 32"):
        recipe(model={"heads": 5})
