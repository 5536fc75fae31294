from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.citeomatic import rank_task, train_alone, untrained_encoder

from cocite.corpus.store import Corpus
from cocite.systems.citeomatic.losses import NEIGHBOUR, margin_triplet_losses
from cocite.training.engine.world import World
from cocite.training.measure import ranking_metrics


def test_it_orders_better_than_nnselect(training_corpus: Corpus) -> None:
    task = rank_task(training_corpus, untrained_encoder(training_corpus), objective="paper", l2=1e-6)
    first = ranking_metrics(task.dev, task.periods.dev, training_corpus.cites)
    result = train_alone(task)
    assert result.best["MRR"] > first["MRR"]
    assert result.best["F1@20"] > first["F1@20"]


def test_the_loss_is_the_margin_between_two_probabilities(training_corpus: Corpus) -> None:
    task = rank_task(
        training_corpus, untrained_encoder(training_corpus), objective="paper", word_dropout=0.0, gamma=2.0
    )
    examples = np.arange(20, 30)
    losses = task.loss(task.model, task.collate(examples, 0))
    drawn = task.triplets(0)[examples]
    scores = [
        torch.sigmoid(task.logits(task.model, task.pairs(drawn.query, papers))[0])
        for papers in (drawn.positive, drawn.negative)
    ]
    counts = torch.from_numpy(task.periods.history.in_citations.astype(np.float32))
    kind = torch.from_numpy(drawn.kind.astype(np.int64))
    expected = margin_triplet_losses(*scores, kind, counts[drawn.positive], counts[drawn.negative], gamma=2.0)
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count_log", ["log", "log1p"])
def test_the_loss_is_that_of_the_paper_written_out(training_corpus: Corpus, count_log: str) -> None:
    """Eq. 3's features from the papers' words, FeedForward, sigmoid, and Eq. 2 with Appendix B, in float64."""
    settings = {
        "objective": "paper",
        "word_dropout": 0.0,
        "gamma": 1.5,
        "l1": 1e-3,
        "l2": 1e-2,
        "temporal": False,
    }
    task = rank_task(training_corpus, untrained_encoder(training_corpus), **settings)
    task.model.settings = task.model.settings.model_copy(update={"count_log": count_log})
    task.model.double()
    weights = {name: value.detach().numpy() for name, value in task.model.named_parameters()}
    magnitude, direction = (weights[f"tables.words_both.{part}"] for part in ("magnitude", "direction"))
    words = magnitude * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    bags = {field: task.fields.papers(training_corpus)[field] for field in ("title", "abstract")}
    known = task.periods.history.citing
    citing = [set(training_corpus.cites[row].tolist()) if known[row] else set() for row in range(len(known))]

    def cosine(left: np.ndarray, right: np.ndarray) -> float:
        return float(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)))

    def probability(query: int, paper: int) -> float:
        sums = [[words[bag[row]].sum(0) for row in (query, paper)] for bag in bags.values()]
        near = task.vectors.astype(np.float64)
        others = sum(paper in cited for row, cited in enumerate(citing) if row != query)
        count = math.log1p(others) if count_log == "log1p" else math.log(max(others, 1))
        features = [
            *(cosine(*pair) for pair in sums),
            cosine(near[query], near[paper]),
            *(
                sum(weights["shared_weight"][t] for t in {*bag[query]} & {*bag[paper]})
                for bag in bags.values()
            ),
            count,
        ]
        layer = np.array(features)
        for number in (0, 2):
            layer = weights[f"layers.{number}.weight"] @ layer + weights[f"layers.{number}.bias"]
            layer = np.where(layer > 0, layer, np.expm1(layer))  # ELU
        return 1 / (1 + math.exp(-float((weights["layers.4.weight"] @ layer + weights["layers.4.bias"])[0])))

    examples = np.arange(6)
    drawn = task.triplets(0)[examples]
    queries, papers = np.unique(drawn.query), np.unique([drawn.positive, drawn.negative])
    penalty = 0.0  # of the distinct words of each field, of queries and of papers
    for rows in (queries, papers):
        for bag in bags.values():
            used = words[sorted({t for row in rows for t in bag[row].tolist()})]
            penalty += (1e-3 * np.abs(used).sum() + 1e-2 * (used**2).sum()) / len(used)

    def boost(paper: int) -> float:
        return 1 / (1 + math.exp(-sum(paper in cited for cited in citing) / 100)) / 50

    expected = []
    for query, positive, negative, kind in zip(
        drawn.query.tolist(),
        drawn.positive.tolist(),
        drawn.negative.tolist(),
        drawn.kind.tolist(),
        strict=True,
    ):
        margin = 1.5 * {0: 0.3, 1: 0.2, 2: 0.1}[kind]
        gap = probability(query, negative) + boost(negative) - probability(query, positive) - boost(positive)
        expected.append(max(margin + gap, 0.0) + penalty)
    found = task.loss(task.model, task.collate(examples, 0))
    assert found.dtype == torch.float64
    assert found.tolist() == pytest.approx(expected, rel=1e-6)


def test_neighbours_are_found_once_and_the_same_again(training_corpus: Corpus) -> None:
    encoder = untrained_encoder(training_corpus)
    task, again = (rank_task(training_corpus, encoder, objective="paper") for _ in range(2))
    kept = task.prepare(World(), lambda _: None)
    table = task.negatives.neighbours
    assert len(table.indices)
    task.refresh(task.model, World(), 50)
    assert task.negatives.neighbours is table
    again.negatives.neighbours = task.negatives.cites
    again.load_prepared(kept)
    drawn = again.triplets(3)
    assert np.array_equal(drawn.negative, task.triplets(3).negative)
    assert (drawn.kind == NEIGHBOUR).any()
