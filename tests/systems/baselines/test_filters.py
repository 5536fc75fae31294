"""Filters with a maximum over the places, against a loop over the places at float64."""

from __future__ import annotations

import numpy as np
import torch

from cocite.systems.baselines.filters import PADDING, MaxFilters


def test_each_filter_is_the_maximum_over_the_places_without_padding() -> None:
    torch.manual_seed(1)
    filters = MaxFilters(9, 4, 3, (1, 2)).double()
    weights = {name: value.numpy() for name, value in filters.state_dict().items()}
    lists = [[3, 4, 8], [5]]
    read = torch.tensor([[3, 4, 8, PADDING], [5, PADDING, PADDING, PADDING]])
    with torch.no_grad():
        found = filters(read).numpy()
    for i, numbers in enumerate(lists):
        for j, width in enumerate((1, 2)):
            vectors = [weights["vectors.weight"][number] for number in numbers]
            vectors += [np.zeros(4)] * max(0, width - len(numbers))
            kernel, bias = weights[f"filters.{j}.weight"], weights[f"filters.{j}.bias"]
            places = [
                np.maximum(0, bias + sum(kernel[:, :, k] @ vectors[place + k] for k in range(width)))
                for place in range(len(vectors) - width + 1)
            ]
            np.testing.assert_allclose(found[i, j], np.max(places, axis=0), rtol=1e-12)
