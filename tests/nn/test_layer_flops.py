from __future__ import annotations

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from cocite.nn.layer_flops import layer_flops


def test_a_layer_counts_as_torch_counts_it() -> None:
    hidden, inner, batch, length = 32, 96, 3, 10
    layer = torch.nn.TransformerEncoderLayer(hidden, 4, inner, batch_first=True, dropout=0.0)
    layer.train()  # the fused path of evaluation is not counted
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        layer(torch.randn(batch, length, hidden))
    ours = layer_flops(batch * length, batch * length**2, hidden=hidden, inner=inner)
    assert ours == pytest.approx(counter.get_total_flops(), rel=0.01)
