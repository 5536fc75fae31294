from __future__ import annotations

import numpy as np
import pytest
from helpers.goodness_of_fit import fits
from helpers.synthetic import SyntheticCorpora
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.errors import InputError
from cocite.protocols import NO_ROW
from cocite.systems.citeomatic.losses import CITED_BY_CITED, NEIGHBOUR, RANDOM
from cocite.systems.citeomatic.negatives import (
    CiteomaticNegatives,
    NegativeSettings,
    grouped_percentile,
    title_and_abstract,
)
from cocite.text.fields import FieldEncoder, FieldSettings


@pytest.fixture(scope="module")
def history(synthetic: SyntheticCorpora) -> History:
    corpus = synthetic(500, seed=3)
    years = np.sort(np.asarray(corpus.years))
    return History.until(corpus, int(years[int(0.7 * len(years))]))


@pytest.fixture(scope="module")
def words(history: History) -> tuple[CSR, int]:
    """Words of title and abstract, and the size of the vocabulary."""
    fields = FieldEncoder.build(history, FieldSettings())
    return title_and_abstract(fields.papers(history.corpus)), len(fields.vocabularies["words"])


def vectors(count: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def sampler(history: History, words: tuple[CSR, int], **settings: object) -> CiteomaticNegatives:
    made = CiteomaticNegatives(history, *words, NegativeSettings.parse(settings))
    made.refresh(vectors(len(history.corpus)))
    return made


# -- triplets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", ["known", "all"])
@pytest.mark.parametrize("no_later", [True, False])
def test_negatives_are_never_forbidden_and_are_of_the_kind_they_claim(
    history: History, words: tuple[CSR, int], no_later: bool, pool: str
) -> None:
    # A high percentile, so that neighbours pass the filter in a corpus this small.
    made = sampler(history, words, no_later=no_later, percentile=90.0, pool=pool)
    drawn = made.triplets(np.random.default_rng(0), 3000)
    cites = [set(history.cites[row].tolist()) for row in range(len(history.corpus))]
    years = history.corpus.years
    assert set(drawn.kind.tolist()) == {RANDOM, NEIGHBOUR, CITED_BY_CITED}
    for query, positive, negative, kind in zip(
        drawn.query, drawn.positive, drawn.negative, drawn.kind, strict=True
    ):
        assert history.citing[query]
        assert positive in cites[query]
        assert negative not in cites[query]
        assert negative != query
        if no_later:
            assert years[negative] <= years[query]
        if kind != CITED_BY_CITED and pool == "known":
            assert history.citing[negative]
        if kind == NEIGHBOUR:
            assert negative in made.neighbours[query]
        elif kind == CITED_BY_CITED:
            assert any(negative in cites[cited] for cited in cites[query])
    unknown = ~history.citing[drawn.negative]
    for kind in (RANDOM, NEIGHBOUR):  # papers of no known links are later ones here
        assert unknown[drawn.kind == kind].any() == (pool == "all" and not no_later)


@pytest.mark.parametrize(("no_later", "pool"), [(True, "known"), (False, "known"), (False, "all")])
def test_each_kind_is_drawn_from_what_is_allowed_as_often_as_it_should_be(
    history: History, words: tuple[CSR, int], no_later: bool, pool: str
) -> None:
    """Section 3: random papers and neighbours evenly; a citation of a citation by one citation, then one of its own."""
    made = sampler(history, words, no_later=no_later, pool=pool, percentile=90.0, neighbours=30)
    years, papers = history.corpus.years, np.arange(len(history.corpus))
    rng = np.random.default_rng(0)
    # Those whose citations cite most: of others no citation of a citation may be left.
    reach = np.array([history.cites.degrees[history.cites[query]].sum() for query in made.queries])
    queries = made.queries[np.argsort(-reach * (made.neighbours.degrees[made.queries] > 1))[:3]]
    for query in queries.tolist():
        cited = history.cites[query].tolist()
        allowed = ~np.isin(papers, [*cited, query])
        if no_later:
            allowed &= years <= years[query]
        near, second = np.zeros(len(papers)), np.zeros(len(papers))
        near[made.neighbours[query]] = 1
        for paper in cited:
            for other in history.cites[paper].tolist():
                second[other] += 1 / len(history.cites[paper])
        masses = {
            RANDOM: (history.citing if pool == "known" else np.ones(len(papers))) * allowed,
            NEIGHBOUR: near * allowed,
            CITED_BY_CITED: second * allowed,
        }
        for kind, mass in masses.items():
            drawn = made.draw(rng, kind, np.full(20_000, query, np.int32))
            drawn = drawn[drawn != NO_ROW]
            assert (mass > 0).sum() > 1
            assert len(drawn) > 15_000
            assert fits(drawn, mass / mass.sum()), (query, kind)


def test_citations_are_drawn_evenly_as_positives(history: History, words: tuple[CSR, int]) -> None:
    most = int(history.cites.degrees.max())
    made = sampler(history, words, min_citations=most, max_citations=most, percentile=90.0)
    drawn = made.triplets(np.random.default_rng(0), 12_000 * len(made.queries))
    for query in made.queries.tolist():
        masses = np.zeros(len(history.corpus))
        masses[history.cites[query]] = 1 / most
        assert fits(drawn.positive[drawn.query == query], masses)


def test_every_query_takes_its_turn(history: History, words: tuple[CSR, int]) -> None:
    made = sampler(history, words)
    assert made.settings.per_query == 6
    drawn = made.triplets(np.random.default_rng(0), 6 * len(made.queries))
    assert np.bincount(drawn.query, minlength=len(history.corpus))[made.queries].max() == 6
    assert len(np.unique(drawn.query)) == len(made.queries)


def test_the_seed_decides(history: History, words: tuple[CSR, int]) -> None:
    made = sampler(history, words)
    one, two, three = (made.triplets(np.random.default_rng(seed), 600) for seed in (5, 5, 6))
    assert np.array_equal(one.negative, two.negative)
    assert np.array_equal(one.positive, two.positive)
    assert not np.array_equal(one.negative[:300], three.negative[:300])


def test_limits_on_citations_choose_the_queries(history: History, words: tuple[CSR, int]) -> None:
    made = sampler(history, words, min_citations=3, max_citations=5)
    degrees = history.cites.degrees
    assert made.queries.tolist() == np.flatnonzero((degrees >= 3) & (degrees <= 5)).tolist()
    with pytest.raises(InputError, match="no paper with enough citations"):
        sampler(history, words, min_citations=10_000, max_citations=10_000)


# -- neighbours -----------------------------------------------------------------------------------------------


def test_neighbours_are_less_alike_than_the_percentile_of_the_citations(
    history: History, words: tuple[CSR, int]
) -> None:
    """Appendix C, steps 1 to 5, one query after the other."""
    made = sampler(history, words, percentile=40.0, neighbours=10)
    bags, space = words[0], vectors(len(history.corpus))
    years = np.asarray(history.corpus.years)
    known = np.flatnonzero(history.citing)

    def alike(a: int, b: int) -> np.float32:
        left, right = set(bags[a].tolist()), set(bags[b].tolist())
        return np.float32(len(left & right) / max(len(left | right), 1))

    kept = 0
    for query in made.queries[::7]:
        cited = history.cites[query]
        threshold = np.percentile([alike(query, c) for c in cited], 40.0)
        assert made.threshold[query] == pytest.approx(threshold, abs=1e-6)
        others = known[known != query]
        near = others[np.argsort(-(space[others] @ space[query]), kind="stable")][:10]
        expected = {
            int(d)
            for d in near
            if d not in cited and years[d] <= years[query] and alike(query, d) < made.threshold[query]
        }
        assert set(made.neighbours[query].tolist()) == expected
        kept += len(expected)
    assert kept > 0


@given(
    st.lists(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=7), min_size=1, max_size=5),
    st.floats(0, 100),
)
def test_percentiles_of_groups(runs: list[list[float]], percentile: float) -> None:
    values = np.array([v for run in runs for v in run], np.float32)
    found = grouped_percentile(values, np.array([len(run) for run in runs], np.int32), percentile)
    assert found == pytest.approx([np.percentile(run, percentile) for run in runs], abs=1e-6)
