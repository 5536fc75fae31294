"""What a training query may know: the years before it where years separate train from dev, else all but its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.citeomatic import rank_task, untrained_encoder
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import read_manifest
from cocite.systems.citeomatic.nnrank.base_task import NNRankTask
from cocite.systems.citeomatic.nnrank.cross_fitting import FoldVectors
from cocite.systems.citeomatic.nnselect.encoder import NNSelectEncoder
from cocite.text.fields import take
from cocite.training.engine.world import World


@pytest.fixture(scope="module")
def one_year(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(900, seed=3, one_year=True)


def ranker(corpus: Corpus, **objective: Any) -> NNRankTask:
    return rank_task(corpus, untrained_encoder(corpus), **objective)


@pytest.mark.parametrize("given", [None, True, False])
def test_the_setting_decides_or_the_data(
    training_corpus: Corpus, one_year: Corpus, given: bool | None
) -> None:
    for papers, by_year in ((training_corpus, True), (one_year, False)):
        task = ranker(papers, temporal=given)
        assert task.temporal == (by_year if given is None else given)


def test_counts_in_training_are_distributed_as_they_are_in_use(one_year: Corpus) -> None:
    """Mean log count of what training queries cite, as training sees it, is that of what dev queries cite in use."""
    for given, alike in ((None, True), (True, False)):
        task = ranker(one_year, temporal=given)
        owner, cited = task.negatives.cites.gather(task.negatives.queries)
        training = np.log1p(task.counts(task.negatives.queries[owner], cited))
        dev = task.periods.dev
        owner, cited = one_year.cites.gather(dev)
        in_use = np.log1p(task.reranker._in_citations(dev[owner], cited))
        error = np.sqrt(training.var() / len(training) + in_use.var() / len(in_use))
        assert in_use.mean() > 1
        assert (abs(training.mean() - in_use.mean()) < 5 * error) == alike
        if not alike:
            assert training.mean() == 0


def test_a_training_query_does_not_count_itself(one_year: Corpus) -> None:
    task = ranker(one_year)
    history = task.periods.history
    query = task.negatives.queries[:40]
    owner, cited = task.negatives.cites.gather(query)
    expected = [
        sum(other != query[o] for other in history.cited_by[paper])
        for o, paper in zip(owner, cited, strict=True)
    ]
    assert task.counts(query[owner], cited).tolist() == expected


def test_a_pair_is_trained_on_what_it_is_ranked_by(training_corpus: Corpus) -> None:
    """Without dropout and with the whole history known, training and reranking give one score."""
    task = ranker(training_corpus, temporal=False, word_dropout=0.0)
    query = task.negatives.queries[:5]
    rows = np.arange(40, dtype=np.int32).reshape(5, 8) + 50
    logits, _ = task.logits(task.model, task.pairs(np.repeat(query, 8), rows.ravel()))
    bags = {field: take(bag, query) for field, bag in task.bags.items()}
    ranked = task.reranker.score_bags(bags, task.vectors[query], query, rows)
    assert logits.detach().numpy().reshape(5, 8) == pytest.approx(ranked, abs=1e-5)


def test_weights_of_words_have_a_rate_of_their_own(training_corpus: Corpus) -> None:
    task = ranker(training_corpus, table_rate=0.001)
    weights, tables = task.parameter_groups()
    assert weights.names == {"shared_weight"}
    assert weights.rate_share == tables.rate_share == pytest.approx(0.1)
    assert tables.sparse
    assert tables.names == {"tables.words_both.magnitude", "tables.words_both.direction"}
    assert {group.rate_share for group in ranker(training_corpus).parameter_groups()} == {1.0}


def test_folds_are_fitted_before_training(training_corpus: Corpus) -> None:
    seen: list[str] = []

    def fit(*, world: World, stage: Any) -> FoldVectors:
        stage("a fold")
        return FoldVectors.same(np.ones((len(training_corpus), 2), np.float32))

    encoder = untrained_encoder(training_corpus)
    task = rank_task(training_corpus, encoder, fit)
    kept = task.prepare(World(), seen.append)
    assert seen == ["a fold", "candidates"]
    other = rank_task(training_corpus, encoder)
    other.load_prepared(kept)
    assert np.array_equal(other.dev.rows, task.dev.rows)
    assert np.array_equal(other.lists(0).rows, task.lists(0).rows)
    assert np.array_equal(other.folds.vectors, task.folds.vectors)
    assert task.folds.cosine(np.array([0]), np.array([1])).tolist() == [2.0]


def test_a_checkpoint_of_another_nnselect_is_refused(training_corpus: Corpus) -> None:
    task = ranker(training_corpus)
    task.load_state(task.state())
    other = rank_task(training_corpus, NNSelectEncoder(task.encoder.model, task.encoder.fields, "another"))
    for load in (other.load_state, other.load_prepared):
        with pytest.raises(InputError, match="another than the one that this training began with"):
            load(task.state())


def test_the_artifact_names_its_nnselect(training_corpus: Corpus, tmp_path: Path) -> None:
    ranker(training_corpus).export(tmp_path / "nnrank", {"step": 3})
    assert read_manifest(tmp_path / "nnrank").meta["step"] == 3
    assert '"nnselect": "untrained"' in (tmp_path / "nnrank" / "config.json").read_text()
