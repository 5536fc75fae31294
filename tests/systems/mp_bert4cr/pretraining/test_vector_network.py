"""Predicting hidden vectors: the loss against its equation, and no leak of what is hidden."""

from __future__ import annotations

import math

import pytest
import torch
from helpers.small_mp_bert4cr import SHAPE

from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalSettings
from cocite.systems.mp_bert4cr.pretraining.vector_examples import HiddenVectors
from cocite.systems.mp_bert4cr.pretraining.vector_network import VectorPretrainer, told_apart
from cocite.text.documents import Documents


def test_the_loss_is_its_equation() -> None:
    torch.manual_seed(0)
    predicted, targets = torch.randn(5, 7), torch.randn(5, 7)
    owners = torch.tensor([0, 0, 1, 2, 2])
    losses, correct = told_apart(predicted, targets, owners, 3, temperature=0.2)

    def cosine(i: int, j: int) -> float:
        a, b = predicted[i].double(), targets[j].double()
        return float(a @ b / (a.norm() * b.norm()))

    each = []
    for i in range(5):
        total = sum(math.exp(cosine(i, j) / 0.2) for j in range(5))
        each.append(-math.log(math.exp(cosine(i, i) / 0.2) / total))
    expected = [(each[0] + each[1]) / 2, each[2], (each[3] + each[4]) / 2]
    assert losses.tolist() == pytest.approx(expected, rel=1e-5)
    assert correct.tolist() == [max(range(5), key=lambda j: cosine(i, j)) == i for i in range(5)]


@pytest.mark.parametrize("reads", ["both", "trunk"])
def test_a_prediction_does_not_see_what_it_predicts(reads: str) -> None:
    torch.manual_seed(0)
    shape = {**SHAPE, "sentence_layers": 0, "norm": "post", "trunk_width": 6, "reads": reads}
    model = VectorPretrainer(HierarchicalSettings.parse(shape), vocabulary=20).eval()
    ids, sentences = torch.tensor([5, 2, 7, 8, 2, 9, 2]), torch.tensor([0, 2, 5, 7])
    vectors = torch.randn(3, 6)
    documents = Documents(ids, sentences, torch.tensor([0, 3]), vectors)
    batch = HiddenVectors(documents, torch.tensor([1]))
    with torch.no_grad():
        before = model(batch)
        changed_ids, changed = ids.clone(), vectors.clone()
        changed_ids[2:4], changed[1] = 11, 0.0
        hidden = Documents(changed_ids, sentences, torch.tensor([0, 3]), changed)
        assert torch.equal(model(HiddenVectors(hidden, torch.tensor([1]))), before)
        changed[0] = 0.0
        seen = Documents(changed_ids, sentences, torch.tensor([0, 3]), changed)
        assert not torch.allclose(model(HiddenVectors(seen, torch.tensor([1]))), before, atol=1e-3)
    torch.testing.assert_close(
        model.targets(batch), vectors[1:2]
    )  # statistics are 0 and 1 until they are set
