from __future__ import annotations

import numpy as np
import pytest
from helpers.goodness_of_fit import fits
from numpy.typing import NDArray

from cocite.corpus.history import History
from cocite.errors import ConfigError, InputError
from cocite.protocols import NO_ROW
from cocite.sampling.draws import Draws
from cocite.sampling.noise import NegativeSampler, NoiseDistribution

POWERS = [0.0, 0.5, 0.75, 1.0, 2.0]


def in_history(history: History) -> NDArray[np.int64]:
    """Known contexts whose citing paper cites much."""
    contexts = history.contexts
    degrees = history.cites.degrees[history.corpus.context_citing[contexts]]
    return contexts[np.argsort(-degrees, kind="stable")]


@pytest.mark.parametrize("power", POWERS)
def test_draws_follow_the_powers_of_the_counts(power: float) -> None:
    counts = np.array([0, 1, 5, 0, 40, 3, 3, 200, 0])
    masses = np.array([0 if c == 0 else float(c) ** power for c in counts.tolist()])
    noise = NoiseDistribution.of(counts, power)
    assert noise.rows.tolist() == [1, 2, 4, 5, 6, 7]
    assert np.allclose(noise.masses, masses[noise.rows] / masses.sum())
    drawn = noise.draw(Draws(0, 0, np.arange(10_000)).uniform(4))
    assert drawn.shape == (10_000, 4)
    assert fits(drawn.ravel(), masses / masses.sum())
    assert noise.draw(np.array([0.0, np.nextafter(1.0, 0.0)])).tolist() == [1, 7]


def test_what_cannot_be_drawn_from_is_told() -> None:
    with pytest.raises(ConfigError, match=r"power of a noise distribution is -0\.5"):
        NoiseDistribution.of(np.array([1, 2]), -0.5)
    with pytest.raises(InputError, match="no paper is cited"):
        NoiseDistribution.of(np.zeros(4, int), 0.0)


@pytest.mark.parametrize("power", POWERS)
def test_negatives_follow_the_equation_without_what_is_forbidden(history: History, power: float) -> None:
    context = in_history(history)[0]
    citing = int(history.corpus.context_citing[context])
    masses = np.array([0 if c == 0 else float(c) ** power for c in history.in_citations.tolist()])
    assert masses[history.cites[citing]].sum() > 0
    masses[history.cites[citing]] = 0
    masses[citing] = 0
    contexts = np.full(10_000, context)
    drawn = NegativeSampler.of(history, power).draw(contexts, 4, Draws(1, 0, np.arange(len(contexts))))
    assert fits(drawn.ravel(), masses / masses.sum())


@pytest.mark.parametrize("power", [0.0, 0.75, 1.0])
def test_equation_2_as_the_paper_has_it(history: History, power: float) -> None:
    """Counts of occurrences as citations, over all papers but the positive citations (and the citing paper itself)."""
    corpus = history.corpus
    context = in_history(history)[0]
    counts = np.zeros(len(corpus))
    for known in history.contexts.tolist():
        for paper in corpus.context_cited[known].tolist():
            counts[paper] += paper != int(corpus.context_citing[known])
    masses = np.array([count**power if count else 0.0 for count in counts.tolist()])
    positives = np.flatnonzero(masses)[[0, 5]].astype(np.int32)
    masses[positives] = 0
    masses[corpus.context_cited[context]] = 0
    citing = int(corpus.context_citing[context])
    masses[citing] = 0
    assert masses[history.cites[citing]].sum() > 0  # what the manuscript cites elsewhere may be drawn
    sampler = NegativeSampler.of(history, power, count="occurrences", exclude_cited=False)
    contexts = np.full(10_000, context)
    drawn = sampler.draw(
        contexts, 4, Draws(1, 0, np.arange(len(contexts))), np.tile(positives, (len(contexts), 1))
    )
    assert fits(drawn.ravel(), masses / masses.sum())
    assert (
        not np.allclose(sampler.noise.masses, NegativeSampler.of(history, power).noise.masses) or power == 0
    )


@pytest.mark.parametrize("exclude_cited", [True, False])
def test_a_forbidden_paper_is_never_drawn(history: History, exclude_cited: bool) -> None:
    corpus = history.corpus
    contexts = np.tile(history.contexts, 3)
    draws = Draws(2, 0, np.arange(len(contexts)))
    positives = draws.of(5).uniform(2)
    positives = np.where(positives < 0.3, NO_ROW, (positives * len(corpus)).astype(np.int64))
    sampler = NegativeSampler.of(history, exclude_cited=exclude_cited)
    drawn = sampler.draw(contexts, 5, draws, positives)
    assert (drawn != NO_ROW).all()
    elsewhere = 0
    for context, papers, others in zip(contexts.tolist(), drawn.tolist(), positives.tolist(), strict=True):
        citing = int(corpus.context_citing[context])
        cited = set(corpus.context_cited[context].tolist())
        assert not cited & set(papers)
        assert not set(others) & set(papers)
        assert citing not in papers
        elsewhere += len(set(history.cites[citing].tolist()) & set(papers))
    assert (elsewhere == 0) == exclude_cited


def test_it_is_told_who_may_use_shared_negatives(history: History) -> None:
    sampler = NegativeSampler.of(history)
    contexts, rows = history.contexts[:40], np.arange(0, len(history.corpus), 3)
    positives = np.stack([rows[:40], np.full(40, NO_ROW)], 1)
    table = sampler.forbidden(contexts[:, None], rows, positives[:, None])
    assert table.shape == (40, len(rows))
    for i, context in enumerate(contexts.tolist()):
        citing = int(history.corpus.context_citing[context])
        wrong = {citing, *history.cites[citing].tolist(), *history.corpus.context_cited[context].tolist()}
        assert set(rows[table[i]].tolist()) == (wrong | {int(positives[i, 0])}) & set(rows.tolist())


def test_where_nearly_all_is_forbidden_the_rest_is_drawn_in_proportion(history: History) -> None:
    """Of all that is cited but three papers is forbidden to one context, all to another."""
    sampler = NegativeSampler.of(history, 1.0)
    context = history.contexts[0]
    free = sampler.noise.rows[~sampler.forbidden(np.array(context), sampler.noise.rows)]
    left = free[np.argsort(-history.in_citations[free])[[-1, -30, -60]]]
    some, none = np.setdiff1d(sampler.noise.rows, left), sampler.noise.rows
    width = len(none)
    positives = np.full((120, width), NO_ROW, np.int32)
    positives[:119, : len(some)], positives[119] = some, none
    drawn = sampler.draw(np.full(120, context), 8, Draws(0, 0, np.arange(120)), positives)
    assert (drawn[119] == NO_ROW).all()
    masses = np.zeros(len(history.corpus))
    masses[left] = history.in_citations[left]
    assert fits(drawn[:119].ravel(), masses / masses.sum())


def test_draws_hang_on_seed_epoch_and_example_alone(history: History) -> None:
    sampler, examples = NegativeSampler.of(history), np.arange(300)
    contexts = history.contexts[examples]
    drawn = sampler.draw(contexts, 4, Draws(3, 1, examples))
    again = NegativeSampler.of(history)
    some = np.array([200, 7, 7, 31])
    assert np.array_equal(again.draw(contexts[some], 4, Draws(3, 1, some)), drawn[some])
    for other in (Draws(3, 2, examples), Draws(4, 1, examples)):
        assert (sampler.draw(contexts, 4, other) == drawn).mean() < 0.1
    assert sampler.draw(contexts, 0, Draws(3, 1, examples)).shape == (300, 0)
