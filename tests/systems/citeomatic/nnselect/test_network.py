from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.citeomatic import sets_as_bags as bags
from hypothesis import given
from hypothesis import strategies as st

from cocite.systems.citeomatic.nnselect import network
from cocite.systems.citeomatic.nnselect.network import NNSelect
from cocite.systems.citeomatic.nnselect.text_encoders import TextEncoderKind
from cocite.systems.citeomatic.word_bags import TokenBags, embedding_penalty
from cocite.text.token_lists import TokenLists

TYPES, DIMENSION = 12, 5
BAGS = st.lists(st.sets(st.integers(0, TYPES - 1), max_size=6), min_size=1, max_size=5)


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


def test_bags_are_summed_by_a_budget_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    made, sets = model(), [set(range(n % TYPES)) for n in range(40)]
    tables, parts = {"title": bags(sets), "abstract": bags(sets[::-1])}, list[int]()
    whole = made.encode(tables)
    monkeypatch.setattr(network, "BAGGED_AT_ONCE", 50)
    combine = made._combine

    def counted(fields: torch.Tensor) -> torch.Tensor:
        parts.append(fields.shape[1])
        return combine(fields)

    monkeypatch.setattr(made, "_combine", counted)
    assert np.array_equal(made.encode(tables), whole)
    assert sum(parts) == 40
    assert len(parts) == sum(2 * len(words) for words in sets) // 50 + 1


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


def test_a_part_of_the_papers_is_encoded_as_it_is_among_all() -> None:
    tables = {"title": bags([{1}, {2, 3}, {4}, {5}]), "abstract": bags([{7}, set(), {8, 9}, {1}])}
    made = model()
    whole = made.encode(tables)
    assert np.array_equal(made.encode(tables, rows=slice(1, 3)), whole[1:3])
    assert made.encode(tables, rows=slice(2, 2)).shape == (0, DIMENSION)


@pytest.mark.parametrize("kind", ["cnn", "rnn"])
def test_many_papers_in_order_are_encoded_as_each_by_itself(
    kind: TextEncoderKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "WORDS_AT_ONCE", 9)
    torch.manual_seed(3)
    made = NNSelect(TYPES, 6, encoder=kind).eval()
    rng = np.random.default_rng(0)
    texts = {
        field: TokenLists.of([rng.integers(0, TYPES, n).tolist() for n in rng.integers(0, 8, 20)])
        for field in ("title", "abstract")
    }
    whole = made.encode(texts, block=6)
    for row in range(20):
        own = {field: lists.take(np.array([row])) for field, lists in texts.items()}
        assert made.encode(own)[0] == pytest.approx(whole[row], abs=1e-6)
    assert made.encode(texts, rows=slice(4, 9)) == pytest.approx(whole[4:9], abs=1e-6)
    vectors, used = made(TokenBags.of(texts["title"]), TokenBags.of(texts["abstract"]))
    assert vectors.detach().numpy() == pytest.approx(whole, abs=1e-6)
    assert len(used) == len(np.unique(np.concatenate([texts["title"].ids, texts["abstract"].ids])))


def test_few_words_are_encoded_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "WORDS_AT_ONCE", 50)
    made = NNSelect(TYPES, 6, encoder="cnn")
    sizes = [0, 40, 3, 30, 9, 1, 20, 8]
    texts = {"title": TokenLists.of([[1] * n for n in sizes]), "abstract": TokenLists.of([[]] * len(sizes))}
    parts = list(made._parts(texts, np.arange(8, dtype=np.int32), 4))
    assert sorted(row for part in parts for row in part.tolist()) == list(range(8))
    assert max(sum(sizes[row] for row in part) for part in parts) <= 50 + 40
    assert max(map(len, parts)) <= 4
