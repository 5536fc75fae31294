"""DualCon's and DualEnh's network and loss against their equations, written out in numpy at float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from cocite.systems.baselines.dual import AdditiveAttention, Dual, DualSettings, triplet_loss
from cocite.systems.baselines.filters import PADDING

SETTINGS = DualSettings(
    hidden=3, attention=4, author_dimension=5, channels=2, author_widths=(1, 2), people=3, years=2
)
WORDS, AUTHORS = 12, 6
Weights = dict[str, NDArray[np.float64]]
Lists = list[list[int]]
CONTEXTS: Lists = [[3, 4, 1, 6, 7], [8, 1]]
GAPS = [2, 1]
CITING: Lists = [[9, 10, 11], [5]]
PAPERS: Lists = [[3, 9], [4, 5, 6, 7], [11]]
PEOPLE: Lists = [[1, 2, 5], [0], [3, 4]]


def padded(lists: Lists) -> torch.Tensor:
    longest = max(map(len, lists))
    return torch.tensor([row + [PADDING] * (longest - len(row)) for row in lists])


def network(*, enhanced: bool, settings: DualSettings = SETTINGS) -> Dual:
    torch.manual_seed(3)
    words = np.random.default_rng(0).normal(size=(WORDS, 4)).astype(np.float32)
    return Dual(words, AUTHORS, settings, enhanced=enhanced).double().eval()


def citations() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(4).normal(size=(3, 2, 3)))


def scores(model: Dual) -> torch.Tensor:
    """(3, 2) of each paper for each context."""
    contexts = model.contexts(padded(CONTEXTS), torch.tensor(GAPS), padded(CITING))
    return model(contexts[None], model.papers(padded(PAPERS), padded(PEOPLE)), citations())


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-x))


def softmax(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(x) / np.exp(x).sum()


def lstm(vectors: list[NDArray[np.float64]], weights: Weights, name: str) -> list[NDArray[np.float64]]:
    state, cell, made = np.zeros(3), np.zeros(3), []
    for x in vectors:
        gates = weights[f"{name}.weight_ih_l0"] @ x + weights[f"{name}.bias_ih_l0"]
        gates = gates + weights[f"{name}.weight_hh_l0"] @ state + weights[f"{name}.bias_hh_l0"]
        enter, forget, new, leave = np.split(gates, 4)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(new)
        state = sigmoid(leave) * np.tanh(cell)
        made.append(state)
    return made


def read(numbers: list[int], weights: Weights) -> NDArray[np.float64]:
    """(t, 6) states of a text: read from its beginning, and from its end."""
    vectors = [weights["words.weight"][number] for number in numbers]
    ahead, back = lstm(vectors, weights, "ahead"), lstm(vectors[::-1], weights, "back")[::-1]
    return np.array([np.concatenate(pair) for pair in zip(ahead, back, strict=True)])


def attend(
    query: NDArray[np.float64], states: NDArray[np.float64], weights: Weights, name: str
) -> NDArray[np.float64]:
    layer = np.concatenate([weights[f"{name}.asks.weight"], weights[f"{name}.keys.weight"]], axis=1)
    values = [
        weights[f"{name}.weights.weight"][0] @ np.tanh(layer @ np.concatenate([query, s])) for s in states
    ]
    return softmax(np.array(values)) @ states


def filtered(numbers: list[int], weights: Weights) -> NDArray[np.float64]:
    made = []
    for i, width in enumerate(SETTINGS.author_widths):
        vectors = [weights["authors.vectors.weight"][number] for number in numbers]
        vectors += [np.zeros(5)] * max(0, width - len(numbers))
        kernel, bias = weights[f"authors.filters.{i}.weight"], weights[f"authors.filters.{i}.bias"]
        places = [
            np.maximum(0, bias + sum(kernel[:, :, k] @ vectors[place + k] for k in range(width)))
            for place in range(len(vectors) - width + 1)
        ]
        made.append(np.max(places, axis=0))
    return np.concatenate(made)


def score(context: int, paper: int, weights: Weights, *, enhanced: bool, bibliographic: bool) -> float:
    states = read(CONTEXTS[context], weights)
    vector = attend(states[GAPS[context]], states, weights, "of_context")
    if enhanced:
        vector = vector + attend(vector, read(CITING[context], weights), weights, "of_citing")
    candidate = attend(vector, read(PAPERS[paper], weights), weights, "of_paper")
    semantic = vector @ candidate / (np.linalg.norm(vector) * np.linalg.norm(candidate))
    if not bibliographic:
        return float(semantic)
    known = np.concatenate([filtered(PEOPLE[paper], weights), citations()[paper, context].numpy()])
    inner = sigmoid(weights["inner.weight"] @ known + weights["inner.bias"])
    of_paper = sigmoid(weights["outer.weight"] @ inner + weights["outer.bias"])[0]
    shares = softmax(sigmoid(weights["shares.weight"] @ vector + weights["shares.bias"]))
    return float(shares @ np.array([semantic, of_paper]))


@pytest.mark.parametrize("enhanced", [True, False])
@pytest.mark.parametrize("bibliographic", [True, False])
def test_the_score_is_what_the_equations_say(enhanced: bool, bibliographic: bool) -> None:
    model = network(enhanced=enhanced, settings=SETTINGS.model_copy(update={"bibliographic": bibliographic}))
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    wanted = [
        [score(c, p, weights, enhanced=enhanced, bibliographic=bibliographic) for c in range(2)]
        for p in range(3)
    ]
    with torch.no_grad():
        np.testing.assert_allclose(scores(model).numpy(), wanted, rtol=1e-10)


def test_the_loss_is_the_mean_cost_of_the_valid_triplets() -> None:
    rng = np.random.default_rng(1)
    cited, others, valid = rng.normal(size=4), rng.normal(size=(5, 4)), rng.random((5, 4)) < 0.7
    costs = [max(0.0, 0.3 - cited[j] + others[i, j]) for i in range(5) for j in range(4) if valid[i, j]]
    found = triplet_loss(*map(torch.from_numpy, (cited, others, valid)), margin=0.3)
    assert found.item() == pytest.approx(np.mean(costs), rel=1e-12)
    assert triplet_loss(*map(torch.from_numpy, (cited, others, np.zeros_like(valid))), margin=0.3).item() == 0


def test_gradients_of_attention_and_loss_are_right() -> None:
    torch.manual_seed(0)
    attention = AdditiveAttention(3, 4).double()
    queries, states = (torch.randn(2, n, 3, dtype=torch.float64, requires_grad=True) for n in (2, 4))
    inside = torch.tensor([[True] * 4, [True, True, False, False]])
    assert torch.autograd.gradcheck(lambda q, s: attention(q, s, inside), (queries, states))
    cited, others = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((3,), (4, 3)))
    valid = torch.rand(4, 3) < 0.8
    assert torch.autograd.gradcheck(lambda c, o: triplet_loss(c, o, valid, 5.0), (cited, others))


class Scores(torch.nn.Module):
    """All scores as a module's output, for a call with other weights."""

    def __init__(self, model: Dual) -> None:
        super().__init__()
        self.model = model

    def forward(self) -> torch.Tensor:
        return scores(self.model)


def test_gradients_reach_every_weight_and_are_right() -> None:
    model = network(enhanced=True)
    model.words.sparse = False  # finite differences are of dense gradients
    every = Scores(model)
    # Padding is an author whose vector has no gradient, and stays 0.
    names = [name for name, _ in every.named_parameters() if name != "model.authors.vectors.weight"]
    weights = dict(every.named_parameters())

    def of(*values: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = torch.func.functional_call(every, dict(zip(names, values, strict=True)), ())
        return made

    assert torch.autograd.gradcheck(of, tuple(weights[name].detach().requires_grad_() for name in names))
    every().sum().backward()
    assert all(value.grad is not None and value.grad.abs().sum() > 0 for value in weights.values())


def test_a_text_reads_the_same_alone_and_beside_a_longer_one() -> None:
    model = network(enhanced=True)
    with torch.no_grad():
        together, _ = model.read(padded(PAPERS))
        for i, numbers in enumerate(PAPERS):
            alone, _ = model.read(torch.tensor([numbers]))
            torch.testing.assert_close(alone[0], together[i, : len(numbers)])


def test_a_pair_alone_scores_as_all_pairs_do() -> None:
    model = network(enhanced=True)
    with torch.no_grad():
        every = scores(model)
        contexts = model.contexts(padded(CONTEXTS), torch.tensor(GAPS), padded(CITING))
        papers = model.papers(padded(PAPERS), padded(PEOPLE))
        which, asked = torch.tensor([2, 0, 2]), torch.tensor([1, 1, 0])
        paired = model(contexts[asked][:, None], papers.take(which), citations()[which, asked][:, None])
    torch.testing.assert_close(paired[:, 0], every[which, asked])


def test_the_order_of_the_words_counts_and_the_place_of_the_gap() -> None:
    model = network(enhanced=False)
    text = padded([CONTEXTS[0]])
    with torch.no_grad():
        first, moved, turned = (
            model.contexts(*read)
            for read in (
                (text, torch.tensor([2])),
                (text, torch.tensor([0])),
                (text.flip(1), torch.tensor([2])),
            )
        )
    assert not torch.allclose(first, moved)
    assert not torch.allclose(first, turned)
