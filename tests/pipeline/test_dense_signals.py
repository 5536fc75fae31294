"""Dense signals: the gathered are the dense ones."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.pipeline_queries import queries_of

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.pipeline.dense_signals import DenseSignals
from cocite.pipeline.first_stage import FirstStage
from cocite.protocols import Ranking


@pytest.mark.parametrize("context", [False, True])
def test_gathered_signals_are_the_dense_ones(
    corpus: Corpus, first: FirstStage, later: list[int], context: bool
) -> None:
    queries = queries_of(corpus, later[:6], context=context)
    block = DenseSignals(first.signals, queries)
    rows = np.tile(np.arange(0, 600, 7, dtype=np.int32), (6, 1))
    at = block.at(Ranking(rows, np.zeros(rows.shape, np.float32)))
    checked = 0
    for name in at:
        try:
            dense = block._over_all(name)
        except (InputError, ValueError):
            continue  # derived from others
        np.testing.assert_allclose(
            at[name], np.take_along_axis(dense, rows, 1), rtol=1e-5, atol=1e-6, err_msg=name
        )
        checked += 1
    assert checked >= 12
    assert all(values.shape == rows.shape and values.dtype == np.float32 for values in at.values())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("whole>txt", "did you mean 'whole>text'"),
        ("sentences:cube", "no signal is called"),
        ("hatten", "no signal"),
    ],
)
def test_an_unknown_signal_is_refused(
    corpus: Corpus, first: FirstStage, later: list[int], name: str, message: str
) -> None:
    block = DenseSignals(first.signals, queries_of(corpus, later[:1], context=False))
    with pytest.raises(InputError, match=message):
        block.over_all(name)
