"""Training HAtten of a few dimensions: examples, losses, mining, and short runs of the loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW
from cocite.systems.hatten.build import HattenRecipe, build
from cocite.systems.hatten.encoder import load_hatten_encoder
from cocite.systems.hatten.task import HattenTask, InBatchTask, TripletTask
from cocite.text.queries import context_queries
from cocite.training.engine.loop import train
from cocite.training.engine.stores import FolderStore
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World

PAPER = {"objective": "paper", "contexts": 1, "mined": 4, "random": 1, "depth": 20, "overlap": 0.2}


def recipe(**sections: Any) -> HattenRecipe:
    data: dict[str, Any] = {
        "period": {"train_until": 2015},
        "dev_contexts": 60,
        "paragraphs": {"vocabulary_size": 2000, "max_abstract": 40},
        "words": {"source": "random"},
        "model": {"dimension": 16, "heads": 2, "feed_forward": 24, "dropout": 0.0},
        "objective": {"contexts": 3, "random": 1},
        "training": {"batch": 24, "tokens": 100_000, "optimizer": {"learning_rate": 5e-3}},
    }
    for name, values in sections.items():
        data[name] = {**data.get(name, {}), **values} if isinstance(values, dict) else values
    return HattenRecipe.parse({"kind": "hatten", **data})


def made(corpus: Corpus, folder: Path, **sections: Any) -> HattenTask:
    return build(recipe(**sections), corpus, folder)


def test_an_example_is_some_contexts_of_one_paper_of_the_training_period(
    corpus: Corpus, tmp_path: Path
) -> None:
    task = made(corpus, tmp_path)
    assert corpus.years[task.gaps.citing].max() <= 2015 < corpus.years[task.dev.citing].min()
    lengths = task.lengths(0)
    for epoch in (0, 1):
        bundles = task.bundles(epoch)
        assert len(bundles) == len(lengths) == len(task.lengths(epoch))
        assert sorted(bundles.indices.tolist()) == list(range(len(task.gaps)))
        assert bundles.degrees.max() == 3
        owner, contexts = bundles.pairs()
        citing = task.gaps.citing[contexts]
        assert all(len(set(citing[owner == i].tolist())) == 1 for i in range(len(bundles)))
    assert not np.array_equal(task.bundles(0).indices, task.bundles(1).indices)


def test_lengths_are_the_words_of_an_example(corpus: Corpus, tmp_path: Path) -> None:
    task = made(corpus, tmp_path, objective={"random": 0})
    lengths = task.lengths(0)
    for example in (0, 7, len(lengths) - 1):
        documents = task.collate(np.array([example]), 0).documents
        assert len(documents.tokens) <= lengths[example]  # papers that two contexts cite are packed once
    whole = task.collate(np.arange(60), 0).documents
    assert len(whole.tokens) < 0.8 * lengths[:60].sum()  # what examples share is packed once


def test_draws_do_not_depend_on_the_batch(corpus: Corpus, tmp_path: Path) -> None:
    task = made(corpus, tmp_path, objective={"mined": 2, "context_dropout": 0.3})
    task.refresh(task.model.eval(), World(), 0)
    together = task.draw(np.array([4, 9, 2]), 1)
    alone = task.draw(np.array([9]), 1)
    mine = together.owner == 1
    assert np.array_equal(together.mined[mine], alone.mined)
    assert np.array_equal(together.random[mine], alone.random)
    assert np.array_equal(together.read[mine], alone.read)
    assert not np.array_equal(task.draw(np.array([9]), 2).random, alone.random)


def test_the_softmax_loss_is_its_definition(corpus: Corpus, tmp_path: Path) -> None:
    """Written out for each citation: all papers of the step but those forbidden, with the correction."""
    task = made(corpus, tmp_path, objective={"correction": 0.5, "scale": 7.0})
    assert isinstance(task, InBatchTask)
    task.model.eval()
    examples = np.array([3, 11, 5, 30])
    drawn = task.draw(examples, 0)
    batch = task.collate(examples, 0)
    found = task.loss(task.model, batch)
    vectors = task.model(batch.documents).detach().double()
    queries, papers = vectors[: len(drawn.contexts)], vectors[len(drawn.contexts) :]
    counts = np.bincount(task.gaps.cited.indices, minlength=len(corpus))
    expected = torch.zeros(4, dtype=torch.float64)
    for q, context in enumerate(drawn.contexts.tolist()):
        citing, cited = task.gaps.citing[context], task.gaps.cited[context].tolist()
        losses = []
        for paper in cited:
            logits = {
                row: 7 * float(queries[q] @ papers[i]) - 0.5 * np.log(max(counts[row], 0.5) / counts.sum())
                for i, row in enumerate(drawn.papers.tolist())
                if row == paper
                or not (
                    row in corpus.cites[citing].tolist()
                    or row == citing
                    or corpus.years[row] > corpus.years[citing]
                )
            }
            losses.append(np.log(sum(np.exp(v) for v in logits.values())) - logits[paper])
        expected[drawn.owner[q]] += np.mean(losses) * 4 / len(drawn.contexts)
    assert torch.allclose(found.double(), expected, atol=1e-4)


def test_a_step_in_pieces_has_the_loss_of_the_whole(corpus: Corpus, tmp_path: Path) -> None:
    task = made(corpus, tmp_path, objective={"random": 0})
    assert isinstance(task, InBatchTask)
    assert isinstance(task, ContrastiveTask)
    task.model.eval()
    pieces = [np.array([3, 11]), np.array([5]), np.array([30, 2, 8])]
    vectors = torch.cat([task.embed(task.model, task.collate(piece, 0)) for piece in pieces])
    whole = np.concatenate(pieces)
    expected = task.loss(task.model, task.collate(whole, 0))
    assert torch.allclose(task.contrast(vectors, pieces, 0), expected, atol=1e-5)
    vectors.retain_grad()
    task.contrast(vectors, pieces, 0).mean().backward()
    assert vectors.grad is not None
    assert vectors.grad.abs().sum() > 0


def test_the_triplets_are_those_of_the_paper(corpus: Corpus, tmp_path: Path) -> None:
    task = made(corpus, tmp_path, objective=PAPER)
    assert isinstance(task, TripletTask)
    assert not isinstance(task, ContrastiveTask)
    task.model.eval()
    task.refresh(task.model, World(), 0)
    examples = np.arange(12)
    drawn, batch = task.draw(examples, 0), task.collate(examples, 0)
    assert drawn.mined.shape == (12, 4)
    query, positive, negative = task._triplets(drawn)
    triplets = list(zip(query.tolist(), positive.tolist(), negative.tolist(), strict=True))
    for q in range(12):
        citing, cited = task.gaps.citing[drawn.contexts[q]], task.gaps.cited[drawn.contexts[q]].tolist()
        mined, random = drawn.mined[q], drawn.random[q, 0]
        expected = [(paper, other) for paper in cited for other in [*mined.tolist(), random]]
        expected += [(paper, random) for paper in mined[drawn.relevant[q]].tolist()]
        forbidden = {NO_ROW, int(citing), *corpus.cites[citing].tolist()}
        allowed = [
            (p, n)
            for p, n in expected
            if n not in forbidden and p != n and corpus.years[n] <= corpus.years[citing]
        ]
        assert sorted((p, n) for i, p, n in triplets if i == q) == sorted(allowed)
    assert drawn.relevant.any()
    vectors = task.model(batch.documents).detach()
    row = {paper: i for i, paper in enumerate(drawn.papers.tolist(), len(drawn.contexts))}
    losses = torch.zeros(12)
    for q in range(12):
        own = [
            functional.relu(vectors[q] @ vectors[row[n]] - vectors[q] @ vectors[row[p]] + 0.1)
            for i, p, n in triplets
            if i == q
        ]
        losses[q] = torch.stack(own).mean()
    assert torch.allclose(task.loss(task.model, batch), losses, atol=1e-5)


def test_training_raises_the_dev_metric_and_the_model_is_exported(corpus: Corpus, tmp_path: Path) -> None:
    task = made(corpus, tmp_path, training={"epochs": 4})
    outcome = train(task, task.recipe.training, world=World())
    before = made(corpus, tmp_path).evaluate(task.model.train(False), World())
    assert outcome.best == pytest.approx(before)
    untrained = made(corpus, tmp_path)
    assert outcome.best["R@100"] > untrained.evaluate(untrained.model.eval(), World())["R@100"] + 0.1
    task.export(tmp_path / "model" / "hatten", {"dev": outcome.best})
    encoder = load_hatten_encoder(tmp_path / "model", dtype=torch.float32)
    papers = encoder.encode_papers(corpus, np.arange(len(corpus), dtype=np.int32))
    queries = context_queries(corpus, task.dev.positions)
    scores = encoder.encode_queries(queries) @ papers.T
    scores[np.arange(len(queries)), task.dev.citing] = -1
    best = np.argsort(-scores, axis=1)[:, :10]
    hits = task.dev.cited.contains(np.arange(len(queries))[:, None], best).sum(1) / task.dev.cited.degrees
    assert hits.mean() == pytest.approx(outcome.best["R@10"], abs=0.02)


@pytest.mark.parametrize("objective", [PAPER, {"mined": 1, "depth": 20}], ids=["paper", "in_batch"])
def test_a_resumed_training_ends_as_one_never_interrupted(
    corpus: Corpus, tmp_path: Path, objective: dict[str, Any]
) -> None:
    training = {"steps": 9, "refresh_every": 6, "checkpoint_every": 4, "evaluate_every": 9}
    whole = made(corpus, tmp_path, objective=objective, training=training)
    train(whole, whole.recipe.training, world=World())

    class Stop(Exception):
        pass

    def stop(metrics: dict[str, float], step: int) -> None:
        if step == 5:
            raise Stop

    store = FolderStore(tmp_path / "checkpoints", World(), metric=HattenTask.metric)
    first = made(corpus, tmp_path, objective=objective, training={**training, "log_every": 1})
    with pytest.raises(Stop):
        train(first, first.recipe.training, world=World(), store=store, log=stop)
    second = made(corpus, tmp_path, objective=objective, training=training)
    train(second, second.recipe.training, world=World(), store=store)
    assert first.mined is not None
    for name, value in whole.model.state_dict().items():
        assert torch.allclose(second.model.state_dict()[name], value, atol=1e-6), name


def test_flops_are_those_that_torch_counts(corpus: Corpus, tmp_path: Path) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    task = made(corpus, tmp_path, model={"bag": False, "dimension": 32, "feed_forward": 128})
    batch = task.collate(np.arange(40), 0)
    with FlopCounterMode(display=False) as counter:
        task.model(batch.documents).sum().backward()
    assert 0.8 * counter.get_total_flops() < task.flops(batch) <= counter.get_total_flops()  # no padding
    bag = made(corpus, tmp_path, model={"attention": False})
    assert bag.flops(bag.collate(np.arange(4), 0)) == 0


def test_attention_can_begin_some_epochs_later(corpus: Corpus, tmp_path: Path) -> None:
    still = {"optimizer": {"learning_rate": 5e-3, "weight_decay": 0.0}}
    task = made(corpus, tmp_path, objective={"bag_epochs": 1}, training={"epochs": 1, **still})
    before = {name: value.clone() for name, value in task.model.state_dict().items()}
    assert task.flops(task.collate(np.arange(3), 0)) == 0 < task.flops(task.collate(np.arange(3), 1))
    train(task, task.recipe.training, world=World())
    after = task.model.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"words.weight", "word_weight.weight", "place_weight", "type_weight"}
    task = made(corpus, tmp_path, objective={"bag_epochs": 1}, training={"epochs": 2, "evaluate_every": 1000})
    train(task, task.recipe.training, world=World())
    assert task.model.gate != 0


def test_fixed_word_vectors_stay(corpus: Corpus, tmp_path: Path) -> None:
    task = made(corpus, tmp_path, words={"trained": False}, training={"steps": 3})
    before = task.model.words.weight.detach().clone()
    train(task, task.recipe.training, world=World())
    assert torch.equal(task.model.words.weight, before)
