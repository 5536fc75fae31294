from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.systems.citeomatic.nnrank.network import NNRank, NNRankModelSettings, Pairs, shared_words
from cocite.systems.citeomatic.word_bags import TokenBags

TYPES = {"words": 10, "authors": 6, "venue": 3, "keyphrases": 5}
ALL = {"authors": True, "venue": True, "keyphrases": True}


def random_bags(rng: np.random.Generator, count: int) -> dict[str, CSR]:
    result = {}
    for field in ("title", "abstract", "authors", "venue", "keyphrases"):
        types = TYPES.get(field, TYPES["words"])
        owners, entries = np.nonzero(rng.random((count, types)) < 0.4)
        result[field] = CSR.build(owners, entries, count)
    return result


def model(**settings: object) -> NNRank:
    torch.manual_seed(0)
    made = NNRank(TYPES, NNRankModelSettings.parse({"dimension": 4, "metadata_dimension": 3, **settings}))
    for table in made.tables.values():
        table.magnitude.data.uniform_(0.1, 2)
    made.shared_weight.data.uniform_(-1, 1)
    return made


def cosine(made: NNRank, field: str, query: CSR, i: int, paper: CSR, j: int) -> float:
    def total(side: str, types: np.ndarray) -> np.ndarray:
        table = made.table(field, side)
        magnitude = table.magnitude.detach().double().numpy()[:, 0]
        direction = table.direction.detach().double().numpy()
        terms = (magnitude[t] * direction[t] / np.linalg.norm(direction[t]) for t in types)
        return sum(terms, np.zeros(direction.shape[1]))

    left, right = total("query", query[i]), total("paper", paper[j])
    size = np.linalg.norm(left) * np.linalg.norm(right)
    return float(left @ right / size) if size > 0 else 0.0


@given(st.integers(0, 500), st.booleans())
def test_features_equal_the_formula(seed: int, siamese: bool) -> None:
    """Eq. 3, one pair after the other, in float64."""
    rng = np.random.default_rng(seed)
    queries, papers = random_bags(rng, 3), random_bags(rng, 4)
    made = model(siamese=siamese, **ALL)
    left, right = rng.integers(0, 3, 7), rng.integers(0, 4, 7)
    near, cited = rng.uniform(-1, 1, 7).astype(np.float32), rng.integers(0, 99, 7)
    pairs = Pairs(
        torch.from_numpy(left),
        torch.from_numpy(right),
        shared_words(queries, left, papers, right, TYPES["words"]),
        torch.from_numpy(near),
        torch.from_numpy(cited.astype(np.float32)),
    )
    found = made.features(made.encode(queries, "query", block=2), made.encode(papers, "paper"), pairs)
    weight = made.shared_weight.detach().numpy()
    for k, (i, j) in enumerate(zip(left, right, strict=True)):
        expected = [cosine(made, f, queries[f], i, papers[f], j) for f in made.settings.fields]
        expected.append(near[k])
        expected += [
            sum(weight[t] for t in set(queries[f][i]) & set(papers[f][j])) for f in ("title", "abstract")
        ]
        expected.append(math.log1p(cited[k]))
        assert found[k].tolist() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("count_log", "expected"),
    [
        ("log", [0.0, 0.0, math.log(2), math.log(700)]),
        ("log1p", [0.0, math.log(2), math.log(3), math.log(701)]),
    ],
)
def test_the_log_of_in_citations_is_the_papers_or_the_codes(count_log: str, expected: list[float]) -> None:
    """Section 4 has log n; the authors' code log(1 + n), which has a value for papers never cited."""
    made = model(cosines=False, intersection=False, nnselect=False, count_log=count_log)
    rows = torch.zeros(4, dtype=torch.int64)
    pairs = Pairs(rows, rows, {}, torch.zeros(4), torch.tensor([0.0, 1.0, 2.0, 700.0]))
    assert made.features({}, {}, pairs)[:, 0].tolist() == pytest.approx(expected, rel=1e-6)


def test_a_model_of_an_earlier_version_reads_what_it_was_trained_on() -> None:
    assert NNRankModelSettings.parse({"dimension": 8, "in_citations": True}).count_log == "log1p"


def test_training_and_encoding_see_the_same_fields() -> None:
    papers = random_bags(np.random.default_rng(1), 5)
    made = model(**ALL)
    units, used = made.fields({f: TokenBags.of(bag) for f, bag in papers.items()}, "paper")
    encoded = made.encode(papers, "paper")
    assert set(units) == set(encoded) == set(made.settings.fields)
    assert all(torch.allclose(units[f], encoded[f], atol=1e-6) for f in units)
    assert len(used) == 5


@pytest.mark.parametrize(
    ("switch", "gone"),
    [
        ("cosines", {"title", "abstract"}),
        ("intersection", {"shared_title", "shared_abstract"}),
        ("in_citations", {"in_citations"}),
        ("nnselect", {"nnselect"}),
        ("authors", {"authors"}),
        ("venue", {"venue"}),
        ("keyphrases", {"keyphrases"}),
    ],
)
def test_each_group_can_be_turned_off(switch: str, gone: set[str]) -> None:
    full = model(**ALL)
    less = model(**{**ALL, switch: False})
    assert set(full.settings.features) - set(less.settings.features) == gone
    assert less.layers[0].in_features == len(full.settings.features) - len(gone)
    parameters = {name for name, _ in full.named_parameters()} - {name for name, _ in less.named_parameters()}
    assert bool(parameters) == (switch in ("cosines", "authors", "venue", "keyphrases"))


def test_siamese_shares_and_the_other_does_not() -> None:
    one, two = model(), model(siamese=False)
    assert one.table("title", "query") is one.table("abstract", "paper")
    assert two.table("title", "query") is two.table("abstract", "query")
    assert two.table("title", "query") is not two.table("title", "paper")


def test_gradient_reaches_layers_weights_and_vectors() -> None:
    rng = np.random.default_rng(2)
    queries, papers = random_bags(rng, 2), random_bags(rng, 2)
    made = model().double()
    left = right = np.array([0, 1])
    shared = shared_words(queries, left, papers, right, TYPES["words"])
    units = {f: torch.randn(2, 4, dtype=torch.float64, requires_grad=True) for f in ("title", "abstract")}
    weight = made.shared_weight.detach().clone().requires_grad_()

    pairs = Pairs(
        torch.from_numpy(left),
        torch.from_numpy(right),
        shared,
        torch.tensor([0.2, 0.4], dtype=torch.float64),
        torch.ones(2, dtype=torch.float64),
    )
    fixed = {f: u.detach().clone() for f, u in units.items()}

    def score(title: torch.Tensor, abstract: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        found = ({"title": title, "abstract": abstract}, fixed, pairs)
        return torch.func.functional_call(made, {"shared_weight": weight}, found)

    assert torch.autograd.gradcheck(score, (units["title"], units["abstract"], weight))
