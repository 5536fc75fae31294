from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from helpers.goodness_of_fit import fits
from helpers.synthetic import SyntheticCorpora
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.errors import ConfigError
from cocite.protocols import NO_ROW
from cocite.sampling.draws import Draws
from cocite.systems.mp_bert4cr import cocitations
from cocite.systems.mp_bert4cr.cocitations import CocitationSampler, Source

MANY = 12_000
POWERS = [0.0, 0.5, 0.75, 1.0, 2.0]


@pytest.fixture(scope="module")
def history(synthetic: SyntheticCorpora) -> History:
    corpus = synthetic(500, seed=3)
    years = np.sort(np.asarray(corpus.years))
    return History.until(corpus, int(years[int(0.7 * len(years))]))


def frequencies(history: History) -> dict[tuple[int, int], int]:
    """Times that two papers are cited by one known context, counted with loops."""
    counts: dict[tuple[int, int], int] = {}
    for context in history.contexts.tolist():
        for pair in itertools.permutations(history.corpus.context_cited[context].tolist(), 2):
            counts[pair] = counts.get(pair, 0) + 1
    return counts


@pytest.fixture(scope="module")
def counts(history: History) -> dict[tuple[int, int], int]:
    return frequencies(history)


def pool(counts: dict[tuple[int, int], int], target: int, power: float) -> dict[int, float]:
    return {b: float(n) ** power for (a, b), n in counts.items() if a == target}


@pytest.fixture(scope="module")
def case(history: History, counts: dict[tuple[int, int], int]) -> tuple[int, int]:
    """A context of three papers or more and that of its targets whose frequencies differ most."""
    groups = history.corpus.context_cited
    found = [
        (np.std(list(pool(counts, target, 1.0).values())) + len(groups[context]), context, target)
        for context in history.contexts.tolist()
        if len(groups[context]) >= 3
        for target in groups[context].tolist()
        if int(history.corpus.context_citing[context]) not in pool(counts, target, 1.0)
    ]
    return max(found)[1:]


def drawn_often(
    sampler: CocitationSampler, case: tuple[int, int], count: int, seed: int = 0
) -> NDArray[np.int32]:
    contexts, targets = np.full(MANY, case[0]), np.full(MANY, case[1])
    return sampler.draw(contexts, targets, count, Draws(seed, 0, np.arange(MANY)))


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("small", [256, 0])
def test_positives_follow_the_powers_of_the_frequencies(
    history: History,
    counts: dict[tuple[int, int], int],
    case: tuple[int, int],
    power: float,
    small: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether candidates are looked at one by one, or searched for."""
    monkeypatch.setattr(cocitations, "SMALL", small)
    masses = np.zeros(len(history.corpus))
    for row, mass in pool(counts, case[1], power).items():
        masses[row] = mass
    assert (masses > 0).sum() >= 4
    drawn = drawn_often(CocitationSampler.of(history, power), case, 1)
    assert fits(drawn[:, 0], masses / masses.sum())


@pytest.mark.parametrize("small", [256, 0])
def test_several_are_drawn_without_putting_back(
    history: History,
    counts: dict[tuple[int, int], int],
    case: tuple[int, int],
    small: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cocitations, "SMALL", small)
    masses = pool(counts, case[1], 0.75)
    drawn = drawn_often(CocitationSampler.of(history), case, 3)
    assert (np.sort(drawn, axis=1)[:, 1:] != np.sort(drawn, axis=1)[:, :-1]).all()
    rows, total = sorted(masses), sum(masses.values())
    expected = {}
    for a, b, c in itertools.permutations(rows, 3):
        left = total - masses[a]
        expected[a, b, c] = masses[a] / total * masses[b] / left * masses[c] / (left - masses[b])
    names = {triple: i for i, triple in enumerate(expected)}
    numbers = np.array([names[tuple(triple)] for triple in drawn.tolist()])
    assert fits(numbers, np.array(list(expected.values())))


def test_a_target_of_few_gives_all(
    history: History, counts: dict[tuple[int, int], int], case: tuple[int, int]
) -> None:
    masses = pool(counts, case[1], 1.0)
    drawn = drawn_often(CocitationSampler.of(history, 2.0), case, len(masses) + 2)[:50]
    for row in drawn.tolist():
        assert sorted(row[: len(masses)]) == sorted(masses)
        assert row[len(masses) :] == [NO_ROW, NO_ROW]


@pytest.mark.parametrize("source", get_args(Source))
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("small", [256, 0])
def test_positives_are_of_their_set_and_never_forbidden(
    history: History,
    counts: dict[tuple[int, int], int],
    source: Source,
    single: bool,
    small: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cocitations, "SMALL", small)
    corpus = history.corpus
    owner, targets = corpus.context_cited.gather(history.contexts)
    contexts = history.contexts[owner]
    sampler = CocitationSampler.of(history, source=source, single=single)
    drawn = sampler.draw(contexts, targets, 3, Draws(0, 0, np.arange(len(contexts))))
    for context, target, row in zip(contexts.tolist(), targets.tolist(), drawn.tolist(), strict=True):
        there = [paper for paper in row if paper != NO_ROW]
        assert row[: len(there)] == there
        assert len(set(there)) == len(there)
        citing = int(corpus.context_citing[context])
        others = set(corpus.context_cited[context].tolist()) - {target}
        known = set(pool(counts, target, 1.0)) - {citing}
        allowed = others if source == "context" else known if others or single else set()
        assert set(there) <= allowed
        assert len(there) == min(3, len(allowed))
        if source == "both":
            assert set(there[: len(others)]) <= others


def test_the_future_is_not_counted(history: History) -> None:
    """A context that is not known brings no frequency, not even those of its own members."""
    corpus = history.corpus
    counts = frequencies(history)
    later = np.setdiff1d(np.arange(len(corpus.context_citing)), history.contexts)
    later = later[corpus.context_cited.degrees[later] > 1]
    targets = corpus.context_cited.indices[corpus.context_cited.indptr[later]]
    drawn = CocitationSampler.of(history, source="both").draw(later, targets, 3, Draws(0, 0, later))
    assert (drawn == NO_ROW).any()
    for target, row in zip(targets.tolist(), drawn.tolist(), strict=True):
        assert all((target, paper) in counts for paper in row if paper != NO_ROW)


@pytest.mark.parametrize("small", [256, 0])
def test_draws_hang_on_seed_epoch_and_example_alone(
    history: History, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cocitations, "SMALL", small)
    owner, targets = history.corpus.context_cited.gather(history.contexts)
    contexts, examples = history.contexts[owner], np.arange(len(owner))
    drawn = CocitationSampler.of(history).draw(contexts, targets, 3, Draws(5, 1, examples))
    some = np.array([400, 7, 7, 31])
    again = CocitationSampler.of(history).draw(contexts[some], targets[some], 3, Draws(5, 1, some))
    assert np.array_equal(again, drawn[some])
    other = CocitationSampler.of(history).draw(contexts, targets, 3, Draws(5, 2, examples))
    assert (other != drawn).any(axis=1).mean() > 0.3


def test_a_negative_power_is_refused(history: History) -> None:
    with pytest.raises(ConfigError, match="power of a noise distribution"):
        CocitationSampler.of(history, -1.0)
