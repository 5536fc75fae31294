"""Pretraining by hidden sentences: the documents, what is hidden, the loss, and what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.changed_weights import changed_by
from numpy.typing import NDArray

from cocite.artifacts import verify
from cocite.corpus.builder import build as build_corpus
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import ConfigError, InputError
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr.pretraining.network import load_pretrained
from cocite.systems.mp_bert4cr.pretraining.task import (
    HierarchicalPretrainingRecipe,
    HierarchicalPretrainingTask,
    build,
)
from cocite.systems.mp_bert4cr.sentence_texts import prepare
from cocite.training.engine.loop import train
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.world import World


def recipe(**sections: Any) -> HierarchicalPretrainingRecipe:
    data: dict[str, Any] = {
        "texts": {"vocabulary": 400, "sentence_tokens": 24, "period": {"train_until": 2015}},
        "documents": {"sentences": 8, "least": 2, "dev": 20},
        "model": {
            "sentence_layers": 1,
            "document_layers": 1,
            "hidden": 24,
            "heads": 2,
            "inner": 48,
            "dropout": 0.0,
            "norm": "pre",
            "sentence_tokens": 24,
            "sentences": 10,
        },
        "decoder_layers": 1,
        "training": {
            "batch": 12,
            "tokens": 20_000,
            "optimizer": {"learning_rate": 1e-2},
            "schedule": {"shape": "inverse-square-root", "warmup": 5},
        },
    }
    for name, values in sections.items():
        data[name] = {**data.get(name, {}), **values} if isinstance(values, dict) else values
    return HierarchicalPretrainingRecipe.parse(data)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build_corpus(
        Synthetic(200, seed=4, context_rate=2.0, sentences=True), tmp_path_factory.mktemp("hp") / "corpus"
    )


@pytest.fixture(scope="module")
def folder(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    prepare(recipe().texts, corpus, folder / "sentence-texts")
    return folder


@pytest.fixture(scope="module")
def task(corpus: Corpus, folder: Path) -> HierarchicalPretrainingTask:
    return build(recipe(), corpus, folder)


def sentences(task: HierarchicalPretrainingTask, paper: int) -> list[NDArray[np.int32]]:
    """All of a paper's, in order."""
    texts = task.texts
    return [
        lists[i]
        for lists, indptr in ((texts.abstracts, texts.abstract_indptr), (texts.bodies, texts.body_indptr))
        for i in range(indptr[paper], indptr[paper + 1])
    ]


def test_documents_are_papers_of_the_training_period_in_pieces_that_fit(
    task: HierarchicalPretrainingTask, corpus: Corpus
) -> None:
    pieces = task.pieces
    assert corpus.years[pieces.papers].max() <= 2015 < corpus.years[task.dev.papers].min()
    assert 2 <= pieces.counts.min() <= pieces.counts.max() <= 8
    lengths = task.lengths(0)
    several = int(np.bincount(pieces.papers).argmax())
    found = np.flatnonzero(pieces.papers == several)
    assert len(found) > 1
    whole = sentences(task, several)
    assert pieces.counts[found].sum() == len(whole)
    assert lengths[found].sum() == sum(map(len, whole))


def test_what_is_hidden_is_told_and_the_rest_stays(task: HierarchicalPretrainingTask) -> None:
    examples = np.arange(len(task.pieces))
    batch = task.collate(examples, 0)
    documents, mask = batch.documents, task.texts.tokenizer.mask_token_id
    bounds, hidden = documents.documents.numpy(), set(batch.hidden.tolist())
    answers = {
        number: batch.answers[start:end].tolist()
        for number, (start, end) in zip(
            batch.hidden.tolist(), batch.bounds.unfold(0, 2, 1).tolist(), strict=True
        )
    }
    forms = {"masked": 0, "kept": 0, "replaced": 0}
    for i in examples.tolist():
        first = int(task.pieces.first[i])
        own = sentences(task, int(task.pieces.papers[i]))[first : first + int(task.pieces.counts[i])]
        assert hidden & set(range(bounds[i], bounds[i + 1]))
        for number, sentence in zip(range(bounds[i], bounds[i + 1]), own, strict=True):
            seen = documents.ids[documents.sentences[number] : documents.sentences[number + 1]].tolist()
            if number not in hidden:
                assert seen == sentence.tolist()
                continue
            assert answers[number] == sentence.tolist()
            if seen == sentence.tolist():
                forms["kept"] += 1
            elif seen == [mask] * (len(sentence) - 1) + [int(sentence[-1])]:
                forms["masked"] += 1
            else:
                forms["replaced"] += 1
    total = sum(forms.values())
    assert 0.12 < total / len(documents.lengths) < 0.27  # at least one of each document
    assert forms["masked"] / total == pytest.approx(0.8, abs=0.08)
    assert forms["kept"] > 0 < forms["replaced"]


def test_what_is_hidden_hangs_on_seed_epoch_and_example_alone(task: HierarchicalPretrainingTask) -> None:
    together, alone = task.collate(np.array([4, 9, 2]), 3), task.collate(np.array([9]), 3)
    start, end = together.documents.documents[1:3].tolist()
    tokens = together.documents.sentences[start : end + 1]
    assert torch.equal(together.documents.ids[tokens[0] : tokens[-1]], alone.documents.ids)
    mine = (together.hidden >= start) & (together.hidden < end)
    assert torch.equal(together.hidden[mine] - start, alone.hidden)
    other = task.hiding.hide(task.pieces.take(np.array([9])), Draws(1, 3, np.array([9])))
    assert not (
        torch.equal(other.hidden, alone.hidden) and torch.equal(other.documents.ids, alone.documents.ids)
    )


def test_the_loss_of_an_example_is_the_mean_over_its_hidden_tokens(task: HierarchicalPretrainingTask) -> None:
    task.model.eval()
    with torch.no_grad():
        found = task.loss(task.model, task.collate(np.arange(5), 0))
        for i in range(5):
            losses, _ = task.model(task.collate(np.array([i]), 0))
            torch.testing.assert_close(found[i], losses.mean(), rtol=1e-4, atol=1e-5)


def test_a_short_training_tells_tokens_better_and_leaves_an_encoder(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    chosen = recipe(training={"epochs": 3})
    task = build(chosen, corpus, folder)
    seen: list[dict[str, float]] = []
    train(task, chosen.training, world=World(), log=lambda m, _: seen.append(m) if "accuracy" in m else None)
    assert seen[-1]["dev loss"] < seen[0]["dev loss"] - 0.3
    assert seen[-1]["accuracy"] > seen[0]["accuracy"] + 0.02
    task.export(tmp_path / "pretrained", {})
    verify(tmp_path / "pretrained", kind="mp-bert4cr-pretraining")
    encoder, tokenizer = load_pretrained(tmp_path / "pretrained")
    assert tokenizer.get_vocab() == task.texts.tokenizer.get_vocab()
    for name, weight in task.model.encoder.state_dict().items():
        assert torch.equal(encoder.state_dict()[name], weight), name


def test_layers_are_pretrained_around_word_vectors_that_stay(corpus: Corpus, folder: Path) -> None:
    chosen = recipe(words={"trained": False}, training={"steps": 3, "log_every": 1})
    task = build(chosen, corpus, folder)
    changed = changed_by(chosen.training, task)
    assert "encoder.words.weight" not in changed
    assert {"encoder.document_layers.0.output.weight", "decoder.layers.0.output.weight"} <= changed


def test_a_resumed_training_ends_as_one_never_interrupted(
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    chosen = recipe(
        training={"steps": 6, "tokens": 1500, "checkpoint_every": 3, "log_every": 1}, model={"dropout": 0.2}
    )
    whole = build(chosen, corpus, folder)
    train(whole, chosen.training, world=World())

    class Stop(Exception):
        pass

    def stop(metrics: dict[str, float], step: int) -> None:
        if step == 4:
            raise Stop

    store = FolderStore(tmp_path, World(), metric="accuracy")
    with pytest.raises(Stop):
        train(build(chosen, corpus, folder), chosen.training, world=World(), store=store, log=stop)
    task = build(chosen, corpus, folder)
    train(task, chosen.training, world=World(), store=store)
    for name, value in whole.model.state_dict().items():
        torch.testing.assert_close(task.model.state_dict()[name], value, msg=name)


def test_flops_are_those_that_torch_counts(task: HierarchicalPretrainingTask) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    batch = task.collate(np.arange(8), 0)
    with FlopCounterMode(display=False) as counter:
        task.loss(task.model, batch).sum().backward()
    # The softmax is computed again in the backward pass, and few tokens are padded: no work of the model's.
    assert 0.75 * counter.get_total_flops() < task.flops(batch) <= counter.get_total_flops()


def test_mistakes_are_told(corpus: Corpus, folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"documents\.sentences is 30, and the model reads 10"):
        recipe(documents={"sentences": 30})
    with pytest.raises(InputError, match="no paper of the dev period has 10 sentences"):
        build(recipe(documents={"least": 10, "sentences": 10}), corpus, folder)
