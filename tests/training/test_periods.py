from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.splits import Split, with_split
from cocite.corpus.store import Corpus
from cocite.errors import ConfigError, InputError
from cocite.training.periods import Periods, PeriodSettings


@pytest.fixture
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(600, seed=11)


@pytest.fixture
def one_year(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(900, seed=3, one_year=True)


def test_periods_by_year(corpus: Corpus) -> None:
    years = np.asarray(corpus.years)
    year = int(np.median(years))
    found = Periods.of(corpus, PeriodSettings(train_until=year, dev_until=year + 1))
    assert years[found.history.citing].max() == year
    assert set(years[found.dev].tolist()) == {year + 1}
    assert (corpus.cites.degrees[found.dev] > 0).all()
    few = Periods.of(corpus, PeriodSettings(train_until=year, dev_until=year + 1, dev_queries=7))
    assert len(few.dev) == len(set(few.dev.tolist())) == 7
    auto = Periods.of(corpus, PeriodSettings())
    assert years[auto.dev].min() > years[auto.history.citing].max()
    with pytest.raises(InputError, match="no paper of the dev period"):
        Periods.of(corpus, PeriodSettings(train_until=int(years.max())))
    with pytest.raises(InputError, match="train_until"):
        Periods.of(corpus, PeriodSettings(train_until=1))


def test_a_dev_period_without_links_names_the_setting_and_the_last_year(corpus: Corpus) -> None:
    last = int(np.asarray(corpus.years)[corpus.cites.degrees > 0].max())
    with pytest.raises(InputError, match=rf"period\.train_until=2999: .* an earlier year; .* is of {last}"):
        Periods.of(corpus, PeriodSettings(train_until=2999))


def test_a_dev_period_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ConfigError, match="dev_until is 2010, no later than train_until, 2010"):
        PeriodSettings.parse({"train_until": 2010, "dev_until": 2010})


def test_all_dev_papers_where_their_number_is_not_limited(corpus: Corpus) -> None:
    settings = PeriodSettings(dev_queries=5)
    assert len(Periods.of(corpus, settings).dev) == 5
    assert len(Periods.of(corpus, settings, all_dev=True).dev) > 5


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
