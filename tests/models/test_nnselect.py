from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.systems.citeomatic.nnselect_network import NNSelect, TokenBags, WordVectors, embedding_penalty

TYPES, DIMENSION = 12, 5
BAGS = st.lists(st.sets(st.integers(0, TYPES - 1), max_size=6), min_size=1, max_size=5)


def bags(sets: list[set[int]]) -> CSR:
    owners = [i for i, values in enumerate(sets) for _ in values]
    return CSR.build(np.array(owners, int), np.array([v for values in sets for v in values], int), len(sets))


def model(seed: int = 0) -> NNSelect:
    torch.manual_seed(seed)
    made = NNSelect(TYPES, DIMENSION)
    made.words.magnitude.data.uniform_(-1, 2)
    made.lambda_title.data.fill_(0.7)
    made.lambda_abstract.data.fill_(1.3)
    return made


def by_hand(made: NNSelect, title: set[int], abstract: set[int]) -> np.ndarray:
    """Eq. 1 and the weighted sum of fields in float64, one word after the other."""
    magnitude = made.words.magnitude.detach().double().numpy()[:, 0]
    direction = made.words.direction.detach().double().numpy()

    def field(types: set[int]) -> np.ndarray:
        total = sum(
            (magnitude[t] * direction[t] / np.linalg.norm(direction[t]) for t in types), np.zeros(DIMENSION)
        )
        return total / max(np.linalg.norm(total), 1e-12)

    vector = 0.7 * field(title) + 1.3 * field(abstract)
    return vector / max(np.linalg.norm(vector), 1e-12)


@given(BAGS, st.integers(0, 9))
def test_embedding_equals_the_formula(titles: list[set[int]], seed: int) -> None:
    abstracts = [{(t + 3 * i) % TYPES for t in title} | {i} for i, title in enumerate(titles)]
    made, tables = model(seed), {"title": bags(titles), "abstract": bags(abstracts)}
    expected = np.array([by_hand(made, t, a) for t, a in zip(titles, abstracts, strict=True)])
    assert made.encode(tables, block=2) == pytest.approx(expected, abs=2e-5)
    vectors, used = made(TokenBags.of(tables["title"]), TokenBags.of(tables["abstract"]))
    assert vectors.detach().numpy() == pytest.approx(expected, abs=2e-5)
    assert len(used) == len(set().union(*titles, *abstracts))


def test_papers_without_words_are_zero() -> None:
    tables = {"title": bags([set(), {1}]), "abstract": bags([set(), set()])}
    found = model().encode(tables)
    assert np.abs(found[0]).max() == 0
    assert np.linalg.norm(found[1]) == pytest.approx(1)
    empty = {"title": bags([set()]), "abstract": bags([set()])}
    vectors, used = model()(TokenBags.of(empty["title"]), TokenBags.of(empty["abstract"]))
    assert vectors.abs().max() == 0
    assert len(used) == 0
    assert embedding_penalty(used, l1=1.0, l2=1.0) == 0


def test_gradient_of_the_sums() -> None:
    torch.manual_seed(0)
    table = WordVectors(TYPES, 3, lazy=False).double()
    batch = TokenBags.of(bags([{1, 2}, set(), {2, 5, 7}]))

    def sums(magnitude: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(
            _Sums(table), {"table.magnitude": magnitude, "table.direction": direction}, (batch,)
        )

    assert torch.autograd.gradcheck(sums, (table.magnitude, table.direction))


class _Sums(torch.nn.Module):
    def __init__(self, table: WordVectors) -> None:
        super().__init__()
        self.table = table

    def forward(self, batch: TokenBags) -> torch.Tensor:
        return self.table.sums(batch)[0]


def test_lazy_and_dense_gradients_are_equal() -> None:
    batch = TokenBags.of(bags([{1, 2}, {2, 5, 7}]))
    grads = []
    for lazy in (True, False):
        torch.manual_seed(0)
        table = WordVectors(TYPES, 3, lazy=lazy)
        (table.sums(batch)[0] * torch.arange(6.0).view(2, 3)).sum().backward()
        assert table.direction.grad is not None
        grads.append(table.direction.grad.to_dense() if lazy else table.direction.grad)
    assert torch.allclose(*grads)
    assert grads[0][3].abs().max() == 0


def test_word_dropout_keeps_about_its_share_within_each_bag() -> None:
    table = bags([set(range(12)), set(), set(range(6))])
    batch = TokenBags.of(table)
    torch.manual_seed(1)
    kept = [batch.dropped(0.6) for _ in range(300)]
    assert np.mean([len(k.types) for k in kept]) == pytest.approx(0.4 * 18, rel=0.1)
    for one in kept[:20]:
        assert one.offsets[-1] == len(one.types)
        assert one.offsets[1] == one.offsets[2]  # the empty bag stays empty
        assert set(one.types[one.offsets[2] :].tolist()) <= set(range(6))
    torch.manual_seed(1)
    assert torch.equal(batch.dropped(0.6).types, kept[0].types)
    assert batch.dropped(0.0) is batch


def test_penalty_equals_the_formula() -> None:
    vectors = torch.tensor([[3.0, -4.0], [0.0, 1.0]])
    assert embedding_penalty(vectors, l1=0.1, l2=0.01).item() == pytest.approx(
        0.1 * (7 + 1) / 2 + 0.01 * (25 + 1) / 2
    )


# -- pretrained vectors ---------------------------------------------------------------------------------------
