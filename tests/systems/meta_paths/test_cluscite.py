"""ClusCite's cost against its equation, its descent, what it is fitted to, and the ranking."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.builder import build
from cocite.corpus.history import History, history_before
from cocite.corpus.records import PaperRecord, Record
from cocite.corpus.splits import by_year_name
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.evaluation import experiment, tasks
from cocite.evaluation.metrics import means
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.index import Index
from cocite.systems.meta_paths.cluscite import (
    Blocks,
    ClusCite,
    ClusCiteRanker,
    ClusCiteSettings,
    Pairs,
    cost,
    descend,
    fit_cluscite,
    scaled,
)
from cocite.systems.meta_paths.l2_lr import L2Lr, L2LrRanker

SETTINGS = ClusCiteSettings(queries=60, groups=4, sweeps=20)
QUERIES, OBJECTS, PATHS, PAPERS, SOURCES, GROUPS, COUNT = 3, 6, 4, 5, 3, 2, 12


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(400, seed=2, split=(2, 1))


@pytest.fixture(scope="module")
def training(corpus: Corpus) -> History:
    return History(corpus, np.asarray(corpus.split == 1))


@pytest.fixture(scope="module")
def model(training: History) -> ClusCite:
    return fit_cluscite(training, SETTINGS)


def drawn() -> tuple[Blocks, Pairs]:
    """Blocks and pairs at random, with dense matrices in place of the sparse ones."""
    rng = np.random.default_rng(3)
    blocks = Blocks(
        *(torch.from_numpy(rng.random((n, m))) for n, m in ((OBJECTS, 2), (2, PATHS), (PAPERS, 2)))
    )
    pairs = Pairs(
        objects=torch.from_numpy(rng.random((QUERIES, OBJECTS))),
        query=torch.from_numpy(rng.integers(0, QUERIES, COUNT)),
        paper=torch.from_numpy(rng.integers(0, PAPERS, COUNT)),
        values=torch.from_numpy(rng.random((COUNT, PATHS))),
        cited=torch.from_numpy((rng.random(COUNT) < 0.4).astype(float)),
        below=torch.from_numpy(rng.random((SOURCES, PAPERS))),
        above=torch.from_numpy(rng.random((PAPERS, SOURCES))),
    )
    return blocks, pairs


def of(blocks: Blocks, pairs: Pairs) -> torch.Tensor:
    return cost(blocks, pairs, penalty=0.7, spread=0.3)


def test_the_cost_is_what_the_equation_says() -> None:
    blocks, pairs = drawn()
    theta, w, f = (part.numpy() for part in (blocks.memberships, blocks.weights, blocks.authorities))
    objects, values, cited = (part.numpy() for part in (pairs.objects, pairs.values, pairs.cited))
    wanted = 0.0
    for i in range(COUNT):
        q, p = int(pairs.query[i]), int(pairs.paper[i])
        score = sum(
            sum(objects[q, v] * theta[v, k] for v in range(OBJECTS))
            * (sum(w[k, path] * values[i, path] for path in range(PATHS)) + f[p, k])
            for k in range(GROUPS)
        )
        wanted += 0.5 * (cited[i] - score) ** 2
    wanted += 0.7 / 2 * sum(float((part**2).sum()) for part in (theta, w, f))
    around = pairs.above.numpy() @ pairs.below.numpy() @ f
    wanted += 0.3 / 2 * float(((f - around) ** 2).sum())
    assert of(blocks, pairs).item() == pytest.approx(wanted, rel=1e-12)


def test_gradients_are_right() -> None:
    blocks, pairs = drawn()
    parts = tuple(part.requires_grad_() for part in (blocks.memberships, blocks.weights, blocks.authorities))
    assert torch.autograd.gradcheck(lambda *moved: of(Blocks(*moved), pairs), parts)


def test_no_step_raises_the_cost_and_nothing_becomes_negative() -> None:
    blocks, pairs = drawn()
    found, costs = descend(blocks, lambda moved: of(moved, pairs), sweeps=200)
    assert all(later <= earlier for earlier, later in pairwise(costs))
    assert costs[-1] < 0.5 * costs[0]
    assert of(found, pairs).item() == pytest.approx(costs[-1])
    for part in (found.memberships, found.weights, found.authorities):
        assert (part >= 0).all()
    # Of what is left above 0, none can be moved to a lower cost.
    loose = replace(found, weights=found.weights.detach().requires_grad_())
    of(loose, pairs).backward()
    assert loose.weights.grad is not None
    assert loose.weights.grad[found.weights > 1e-6].abs().max() < 0.05 * costs[0]


def test_the_scale_is_the_one_that_fits_best() -> None:
    blocks, pairs = drawn()
    made = scaled(blocks, pairs)
    factor = float((made.weights / blocks.weights).mean())
    fits = [
        cost(
            replace(blocks, weights=blocks.weights * x, authorities=blocks.authorities * x),
            pairs,
            penalty=0,
            spread=0,
        ).item()
        for x in (factor, 0.98 * factor, 1.02 * factor)
    ]
    assert fits[0] < min(fits[1:])


def test_it_ranks_better_than_counts_of_citations(corpus: Corpus, model: ClusCite) -> None:
    index, task = Index.build(corpus, history_before(corpus, "test")), tasks.global_(corpus, "test")
    fitted, counts = (
        means(experiment.run(task, ranker.search, k=20).hits, ["F1@20"])["F1@20"]
        for ranker in (
            ClusCiteRanker(index, model),
            L2LrRanker(index, L2Lr(("in-citations",), np.ones(1))),
        )
    )
    assert fitted > 3 * counts > 0


def test_scores_are_memberships_times_paths_and_authorities(corpus: Corpus, model: ClusCite) -> None:
    index = Index.build(corpus, history_before(corpus, "test"))
    ranker = ClusCiteRanker(index, model)
    [query] = tasks.global_(corpus, "test", sample=1).queries
    outside = replace(query, id="outside", paper=NO_ROW)
    own = np.array([query.paper, NO_ROW], np.int32)
    paths = dict(ranker.features.values(ranker.fields.queries([query, outside]), own))
    members = model.members([query, outside])
    wanted = members @ model.authorities.T
    for name, weights in zip(model.names, model.weights.T, strict=True):
        wanted += (members @ weights)[:, None] * paths[name]
    found = ranker.scores([query, outside])
    assert np.isneginf(found[0, query.paper])
    others = np.arange(len(corpus)) != query.paper
    np.testing.assert_allclose(found[:, others], wanted[:, others], rtol=1e-4, atol=1e-5)
    assert query.paper not in ranker.search([query], 7).rows[0]


def test_a_query_is_the_sum_over_kinds_of_the_mean_of_its_objects(model: ClusCite) -> None:
    words = list(model.fields.vocabularies["words"].types[:2])
    author = model.fields.vocabularies["authors"].types[0]
    first = len(model.fields.vocabularies["words"])
    found = model.members(
        [Query("q", title=" ".join(words), authors=(author,)), Query("r", title="unheardof")]
    )
    np.testing.assert_allclose(found[0], model.memberships[:2].mean(0) + model.memberships[first], rtol=1e-9)
    assert not found[1].any()


def test_the_seed_alone_decides(training: History, model: ClusCite) -> None:
    same, other = fit_cluscite(training, SETTINGS), fit_cluscite(training, SETTINGS, seed=1)
    np.testing.assert_array_equal(same.memberships, model.memberships)
    np.testing.assert_array_equal(same.authorities, model.authorities)
    assert not np.array_equal(other.weights, model.weights)


def test_the_future_changes_nothing(
    corpus: Corpus, training: History, model: ClusCite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    last = int(corpus.years.max())

    def rewritten(record: Record) -> Record:
        if isinstance(record, PaperRecord) and record.year > last - 2:
            return replace(record, title="other words", abstract="", authors=("A Stranger",), citations=())
        return record

    records = [rewritten(record) for record in Synthetic(400, seed=2)]
    store = tmp_path_factory.mktemp("other") / "corpus"
    other = build(records, store, split=by_year_name(last - 2, last - 1), links_from_contexts=False)
    assert len(other.cites.indices) < len(corpus.cites.indices)
    again = fit_cluscite(History(other, training.citing), SETTINGS)
    assert again.names == model.names
    np.testing.assert_array_equal(again.memberships, model.memberships)
    np.testing.assert_array_equal(again.weights, model.weights)
    np.testing.assert_array_equal(again.authorities, model.authorities)


def test_papers_that_are_not_known_have_no_authority(training: History, model: ClusCite) -> None:
    later = ~training.citing & (training.in_citations == 0)
    assert later.any()
    assert not model.authorities[later].any()
    assert model.authorities[training.in_citations > 0].any()
