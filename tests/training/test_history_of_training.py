"""What a training query may know: the years before it where years separate train from dev, else all but its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cocite.corpus.builder import build
from cocite.corpus.splits import Split, with_split
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.systems.citeomatic.nnrank_task import NNRankRecipe, NNRankTask
from cocite.systems.citeomatic.nnselect_encoder import NNSelectEncoder
from cocite.systems.citeomatic.nnselect_task import NNSelectRecipe, NNSelectTask
from cocite.text.fields import FieldEncoder, FieldSettings
from cocite.training.periods import Periods, PeriodSettings

SMALL: dict[str, Any] = {"model": {"dimension": 4}}


@pytest.fixture(scope="module")
def one_year(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(Synthetic(900, seed=3, one_year=True), tmp_path_factory.mktemp("one") / "store")


def ranker(corpus: Corpus, **objective: Any) -> NNRankTask:
    periods = Periods.of(corpus, PeriodSettings())
    fields = FieldEncoder.build(periods.history, FieldSettings())
    model = NNSelectTask(NNSelectRecipe.parse(SMALL), periods, fields).model
    recipe = NNRankRecipe.parse({**SMALL, "objective": objective})
    return NNRankTask(recipe, periods, fields, NNSelectEncoder(model, fields, "untrained"))


def test_years_separate_where_the_split_is_by_year(corpus: Corpus, one_year: Corpus, tmp_path: Path) -> None:
    by_year = Periods.of(corpus, PeriodSettings())
    assert by_year.years_separate
    assert not Periods.of(one_year, PeriodSettings()).years_separate
    random = with_split(corpus, Split.random(len(corpus), 0.2, 0.2), tmp_path / "random")
    assert not Periods.of(random, PeriodSettings()).years_separate
    # A few papers on the wrong side make no random split of it.
    codes = np.array(corpus.split)
    latest = np.flatnonzero(codes == codes.max())[:5]
    codes[latest] = codes.min()
    few = with_split(corpus, Split(codes), tmp_path / "few")
    assert Periods.of(few, PeriodSettings()).years_separate


@pytest.mark.parametrize("given", [None, True, False])
def test_the_setting_decides_or_the_data(corpus: Corpus, one_year: Corpus, given: bool | None) -> None:
    for papers, by_year in ((corpus, True), (one_year, False)):
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
