"""NCN's network against its equations, written out in numpy at float64."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from cocite.systems.baselines.filters import PADDING
from cocite.systems.baselines.ncn import BEGIN, END, Ncn, NcnPairs, NcnSettings, TimeDelay

SETTINGS = NcnSettings(dimension=5, channels=4, widths=(2, 3), author_widths=(1, 2), dropout=0.0)
WORDS, AUTHORS = 12, 6
Weights = dict[str, NDArray[np.float64]]


@pytest.fixture
def network() -> Ncn:
    torch.manual_seed(3)
    return Ncn(WORDS, AUTHORS, SETTINGS).double().eval()


def padded(lists: list[list[int]]) -> torch.Tensor:
    longest = max(map(len, lists))
    return torch.tensor([row + [PADDING] * (longest - len(row)) for row in lists])


PAIRS = NcnPairs(
    context=padded([[3, 4, 5, 6, 7], [8, 9], [3]]),
    citing=padded([[1, 2], [0], [3, 4]]),
    cited=padded([[5], [2, 3], [0]]),
    title=padded([[4, 7], [3, 9, 10, 11], [6]]),
)


def arrays(network: torch.nn.Module) -> Weights:
    return {name: value.numpy() for name, value in network.state_dict().items()}


def time_delay(
    numbers: list[int], weights: Weights, name: str, widths: tuple[int, ...]
) -> NDArray[np.float64]:
    """max over places of relu(W * x + b) for each width, then tanh(U o + c)."""
    vectors = [weights[f"{name}.vectors.weight"][number] for number in numbers]
    made = []
    for i, width in enumerate(widths):
        filters, bias = (
            weights[f"{name}.filters.{i}.weight"],
            weights[f"{name}.filters.{i}.bias"],
        )  # (c, d, width)
        read = vectors + [np.zeros(5)] * max(0, width - len(vectors))
        places = [
            np.maximum(0, bias + sum(filters[:, :, k] @ read[place + k] for k in range(width)))
            for place in range(len(read) - width + 1)
        ]
        encoding = np.max(places, axis=0)
        made.append(np.tanh(weights[f"{name}.layer.weight"] @ encoding + weights[f"{name}.layer.bias"]))
    return np.array(made)


def sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-x))


def log_probability(
    context: list[int], citing: list[int], cited: list[int], title: list[int], weights: Weights
) -> float:
    encodings = np.concatenate(
        [
            time_delay(context, weights, "context", SETTINGS.widths),
            time_delay(citing, weights, "citing", SETTINGS.author_widths),
            time_delay(cited, weights, "cited", SETTINGS.author_widths),
        ]
    )
    state = np.tanh(weights["begin.weight"] @ encodings.mean(axis=0) + weights["begin.bias"])
    total = 0.0
    for read, wanted in zip([BEGIN, *title], [*title, END], strict=True):
        scores = [
            weights["weights.weight"][0]
            @ np.tanh(weights["keys.weight"] @ s + weights["keys.bias"] + weights["asks.weight"] @ state)
            for s in encodings
        ]
        share = np.exp(scores) / np.exp(scores).sum()
        seen = share @ encodings
        x = np.concatenate([weights["titles.weight"][read], seen])
        # A gated recurrent unit, whose three gates lie one below the other.
        inner = np.split(weights["cell.weight_ih"] @ x + weights["cell.bias_ih"], 3)
        outer = np.split(weights["cell.weight_hh"] @ state + weights["cell.bias_hh"], 3)
        reset, update = sigmoid(inner[0] + outer[0]), sigmoid(inner[1] + outer[1])
        new = np.tanh(inner[2] + reset * outer[2])
        state = (1 - update) * new + update * state
        logits = weights["words.weight"] @ np.concatenate([state, seen]) + weights["words.bias"]
        total += logits[wanted] - np.log(np.exp(logits).sum())
    return total


def unpadded(numbers: torch.Tensor) -> list[list[int]]:
    return [[int(number) for number in row if number != PADDING] for row in numbers]


def test_the_score_is_what_the_equations_say(network: Ncn) -> None:
    lists = zip(
        *(unpadded(part) for part in (PAIRS.context, PAIRS.citing, PAIRS.cited, PAIRS.title)), strict=True
    )
    wanted = [log_probability(*one, arrays(network)) for one in lists]
    with torch.no_grad():
        np.testing.assert_allclose(network(PAIRS).numpy(), wanted, rtol=1e-10)


def test_a_pair_scores_alone_as_it_does_in_a_batch(network: Ncn) -> None:
    with torch.no_grad():
        together = network(PAIRS)
        for i in range(3):
            parts = (
                padded([unpadded(part)[i]])
                for part in (PAIRS.context, PAIRS.citing, PAIRS.cited, PAIRS.title)
            )
            torch.testing.assert_close(network(NcnPairs(*parts)), together[i : i + 1])


def test_titles_are_a_distribution(network: Ncn) -> None:
    """All titles of at most two words, and all longer ones by what is left, have probability 1 together."""
    one = [part[:1] for part in (PAIRS.context, PAIRS.citing, PAIRS.cited)]
    others = [word for word in range(WORDS) if word != END]

    def mass(titles: list[list[int]]) -> float:
        parts = [part.expand(len(titles), -1) for part in one]
        title = torch.tensor(titles, dtype=torch.int64).reshape(len(titles), -1)
        with torch.no_grad():
            return float(network(NcnPairs(*parts, title)).exp().sum())

    # p of a title and its end, summed by length, falls as a probability that the title goes on.
    masses = [mass([list(words) for words in product(others, repeat=length)]) for length in range(4)]
    assert all(0 < value < 1 for value in masses)
    assert sum(masses) < 1
    assert masses[0] == pytest.approx(1 / WORDS, rel=0.5), "an untrained network ends at about any place"


def test_a_filter_reads_no_padding() -> None:
    torch.manual_seed(0)
    delay = TimeDelay(10, 4, 3, (1, 2)).double()
    with torch.no_grad():
        short, long = delay(torch.tensor([[3, 4]])), delay(torch.tensor([[3, 4, PADDING, PADDING, PADDING]]))
    torch.testing.assert_close(short, long)


def test_it_learns_which_context_goes_with_which_title() -> None:
    """Eight contexts of three words, of which the middle one decides the title of two words."""
    torch.manual_seed(5)
    kinds = torch.arange(8)
    context = torch.stack([torch.full((8,), 3), 4 + kinds, torch.full((8,), 3)], dim=1)
    title = torch.stack([4 + (kinds * 3) % 8, 4 + (kinds * 5 + 1) % 8], dim=1)
    nobody = torch.zeros((8, 1), dtype=torch.int64)
    settings = NcnSettings(dimension=16, channels=16, widths=(1, 2), author_widths=(1,), dropout=0.0)
    network = Ncn(WORDS, AUTHORS, settings)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(120):
        optimizer.zero_grad()
        (-network(NcnPairs(context, nobody, nobody, title)).mean()).backward()
        optimizer.step()
    everyone = [context.repeat_interleave(8, 0), nobody.repeat(8, 1), nobody.repeat(8, 1), title.repeat(8, 1)]
    with torch.no_grad():
        scores = network(NcnPairs(*everyone)).reshape(8, 8)  # of each context with each title
    assert torch.equal(scores.argmax(1), kinds)
