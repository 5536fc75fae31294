from __future__ import annotations

import numpy as np
import pytest

from cocite.nn.layer_flops import layer_flops
from cocite.systems.mp_bert4cr.flops import forward_flops
from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalSettings
from cocite.text.documents import Documents
from cocite.text.token_lists import TokenLists


def test_the_layers_of_both_levels_count() -> None:
    settings = HierarchicalSettings(sentence_layers=2, document_layers=3, hidden=8, heads=2, inner=16)
    documents = Documents.of(TokenLists.of([[5, 6, 2], [7, 2], [8, 2]]), np.array([0, 2, 3]))
    words = layer_flops(7, 9 + 4 + 4, hidden=8, inner=16)
    sentences = layer_flops(3, 4 + 1, hidden=8, inner=16)
    assert forward_flops(settings, documents) == pytest.approx(2 * words + 3 * sentences)
