"""The order that NumPy's stable sort finds, block by block."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.mapped_files import mapped_file

from cocite import counting_sort as module
from cocite.counting_sort import counting_sort


@pytest.mark.parametrize("block", [3, 1000])
def test_the_order_is_that_of_a_stable_sort(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    keys = np.random.default_rng(0).integers(-5, 5, 100).astype(np.int16)
    order, ends = counting_sort(keys, 12, least=-6)
    assert order.tolist() == np.argsort(keys, kind="stable").tolist()
    assert ends.tolist() == [int((keys <= key).sum()) for key in range(-6, 6)]
    assert "(deleted)" in mapped_file(order)


def test_no_keys_have_no_order() -> None:
    order, ends = counting_sort(np.zeros(0, np.int16), 3)
    assert (order.tolist(), ends.tolist()) == ([], [0, 0, 0])
