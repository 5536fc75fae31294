"""A trunk's vectors as inputs: standardised by what is given, and projected to the size of words."""

from __future__ import annotations

import numpy as np
import torch

from cocite.nn.weight_files import weights_of
from cocite.systems.mp_bert4cr.trunk_projection import SIZE, TrunkProjection


def test_vectors_are_standardised_and_projected() -> None:
    torch.manual_seed(0)
    vectors = 3.0 + 0.1 * torch.randn(2000, 32)
    projection = TrunkProjection(32, 48)
    projection.set_statistics(vectors.mean(0).numpy(), vectors.std(0).numpy())
    standardised = projection.standardised(vectors.half())
    torch.testing.assert_close(standardised.mean(0), torch.zeros(32), atol=0.01, rtol=0)
    torch.testing.assert_close(standardised.std(0), torch.ones(32), atol=0.02, rtol=0)
    found = projection(vectors)
    expected = ((vectors - vectors.mean(0)) / vectors.std(0)) @ projection.weight * SIZE / (32 * 48) ** 0.5
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)
    # About the norm that the mean of some words has.
    assert 0.7 * SIZE < found.norm(dim=1).mean().item() < 1.3 * SIZE


def test_what_standardises_is_stored_and_not_trained() -> None:
    projection = TrunkProjection(4, 8)
    projection.set_statistics(np.ones(4, np.float32), np.full(4, 2.0, np.float32))
    assert set(weights_of(projection)) == {"mean", "deviation", "weight"}
    assert [name for name, weight in projection.named_parameters() if weight.requires_grad] == ["weight"]
