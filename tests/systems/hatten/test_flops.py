from __future__ import annotations

import pytest

from cocite.nn.layer_flops import layer_flops
from cocite.systems.hatten.flops import forward_flops
from cocite.systems.hatten.network import HattenModelSettings


def test_both_levels_and_their_poolings_count() -> None:
    model = HattenModelSettings(dimension=20, heads=5, feed_forward=40)
    one = forward_flops(model, [7, 3], [2])
    layers = layer_flops(10, 58, hidden=20, inner=40) + layer_flops(2, 4, hidden=20, inner=40)
    assert one == pytest.approx(layers + 4 * 5 * 20 * 12 + 4 * 20**2 * 3)
    assert forward_flops(model, [7, 3, 7, 3], [2, 2]) == pytest.approx(2 * one)
