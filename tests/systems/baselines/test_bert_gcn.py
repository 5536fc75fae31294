"""BERT-GCN's network against its equations, written out in numpy at float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn import functional

from cocite.systems.baselines.bert_gcn import BertGcn, BertGcnSettings
from cocite.systems.baselines.filters import PADDING

SETTINGS = BertGcnSettings(layers=2, heads=2, inner=6, words=6, dropout=0.0, graph_hidden=3, graph=2)
WORDS, CLASSES, WIDTH = 12, 5, 4
TEXTS, GAPS = [[3, 4, 1, 6, 7], [8, 1]], [2, 1]
Weights = dict[str, NDArray[np.float64]]


@pytest.fixture
def network() -> BertGcn:
    torch.manual_seed(3)
    rng = np.random.default_rng(0)
    words, classes = (rng.normal(size=(n, WIDTH)).astype(np.float32) for n in (WORDS, CLASSES))
    # Out of training, torch's own fast form of a layer has no gradients: in training without dropout it is the same.
    return BertGcn(words, classes, SETTINGS).double().train()


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    texts = torch.tensor([TEXTS[0], TEXTS[1] + [PADDING] * 3])
    return texts, torch.tensor(GAPS), torch.from_numpy(np.random.default_rng(5).normal(size=(2, WIDTH)))


def normed(x: NDArray[np.float64], weights: Weights, name: str) -> NDArray[np.float64]:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def attended(x: NDArray[np.float64], weights: Weights, name: str) -> NDArray[np.float64]:
    q, k, v = np.split(x @ weights[f"{name}.in_proj_weight"].T + weights[f"{name}.in_proj_bias"], 3, axis=1)
    made = []
    for head in np.split(np.arange(WIDTH), SETTINGS.heads):
        scores = q[:, head] @ k[:, head].T / math.sqrt(len(head))
        made.append(np.exp(scores) / np.exp(scores).sum(1, keepdims=True) @ v[:, head])
    return (
        np.concatenate(made, axis=1) @ weights[f"{name}.out_proj.weight"].T + weights[f"{name}.out_proj.bias"]
    )


def gelu(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([0.5 * value * (1 + math.erf(value / math.sqrt(2))) for value in x.ravel()]).reshape(
        x.shape
    )


def logits(text: list[int], gap: int, citing: NDArray[np.float64], weights: Weights) -> NDArray[np.float64]:
    read = [
        weights["words.weight"][number] + weights["sides.weight"][int(place > gap)]
        for place, number in enumerate(text)
    ]
    x = np.array([weights["first"], *read]) + weights["positions.weight"][: len(text) + 1]
    x = normed(x, weights, "norm")
    for i in range(SETTINGS.layers):
        layer = f"transformer.layers.{i}"
        x = normed(x + attended(x, weights, f"{layer}.self_attn"), weights, f"{layer}.norm1")
        inner = gelu(x @ weights[f"{layer}.linear1.weight"].T + weights[f"{layer}.linear1.bias"])
        outer = inner @ weights[f"{layer}.linear2.weight"].T + weights[f"{layer}.linear2.bias"]
        x = normed(x + outer, weights, f"{layer}.norm2")
    pooled = np.tanh(weights["pool.weight"] @ x[0] + weights["pool.bias"])
    graph = weights["graph.mean.weight"] @ np.maximum(0, weights["graph.inner.weight"] @ citing)
    return weights["classes.weight"] @ np.concatenate([pooled, graph]) + weights["classes.bias"]


def test_the_logits_are_what_the_equations_say(network: BertGcn) -> None:
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    citing = inputs()[2].numpy()
    wanted = [logits(TEXTS[i], GAPS[i], citing[i], weights) for i in range(2)]
    for mode in (True, False):
        with torch.no_grad():
            np.testing.assert_allclose(network.train(mode)(*inputs()).numpy(), wanted, rtol=1e-9)


def test_classes_and_words_begin_with_the_vectors_given() -> None:
    words, classes = np.eye(WORDS, WIDTH, dtype=np.float32), np.eye(CLASSES, WIDTH, k=1, dtype=np.float32)
    network = BertGcn(words, classes, SETTINGS)
    np.testing.assert_array_equal(network.words.weight.detach(), words)
    np.testing.assert_array_equal(network.classes.weight.detach()[:, :WIDTH], classes)


class Cost(torch.nn.Module):
    """The training's loss as a module's output, for a call with other weights."""

    def __init__(self, model: BertGcn) -> None:
        super().__init__()
        self.model = model

    def forward(self) -> torch.Tensor:
        return functional.cross_entropy(self.model(*inputs()), torch.tensor([2, 0]))


def test_gradients_are_right_and_reach_all_but_the_graph(network: BertGcn) -> None:
    network.words.sparse = False  # finite differences are of dense gradients
    cost = Cost(network)
    weights = dict(cost.named_parameters())
    names = [name for name, value in weights.items() if value.requires_grad]
    assert {name for name in weights if name not in names} == {
        f"model.graph.{part}.weight" for part in ("inner", "mean", "spread")
    }

    def of(*values: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = torch.func.functional_call(cost, dict(zip(names, values, strict=True)), ())
        return made

    assert torch.autograd.gradcheck(of, tuple(weights[name].detach().requires_grad_() for name in names))
    cost().backward()
    assert all(weights[name].grad is not None for name in names)


def test_a_context_alone_is_read_as_beside_a_longer_one(network: BertGcn) -> None:
    texts, gaps, citing = inputs()
    with torch.no_grad():
        torch.testing.assert_close(
            network(texts[1:, :2], gaps[1:], citing[1:]), network(texts, gaps, citing)[1:]
        )


def test_place_of_the_gap_order_and_citing_paper_count(network: BertGcn) -> None:
    texts, gaps, citing = (part[:1] for part in inputs())
    with torch.no_grad():
        first = network(texts, gaps, citing)
        for changed in ((texts, gaps + 1, citing), (texts.flip(1), gaps, citing), (texts, gaps, -citing)):
            assert not torch.allclose(network(*changed), first)
