"""The loss of pretraining, written out in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cocite.systems.mp_bert4cr.pretraining.losses import document_losses
from cocite.systems.mp_bert4cr.pretraining.network import HiddenSentences
from cocite.text.documents import Documents


@given(
    st.lists(
        st.lists(st.tuples(st.booleans(), st.integers(1, 4)), min_size=1, max_size=5), min_size=1, max_size=5
    )
)
def test_the_loss_of_a_document_is_the_mean_over_its_hidden_tokens(
    shapes: list[list[tuple[bool, int]]],
) -> None:
    """Documents as lists of sentences, each hidden or not and of so many tokens; the first is always hidden."""
    shapes = [[(True, sentences[0][1]), *sentences[1:]] for sentences in shapes]
    sentences = [shape for document in shapes for shape in document]
    lengths = np.array([length for _, length in sentences])
    hidden = np.flatnonzero([is_hidden for is_hidden, _ in sentences])
    documents = Documents(
        torch.zeros(int(lengths.sum()), dtype=torch.int64),
        torch.from_numpy(np.cumsum([0, *lengths])),
        torch.from_numpy(np.cumsum([0, *map(len, shapes)])),
    )
    bounds = torch.from_numpy(np.cumsum([0, *lengths[hidden]]))
    batch = HiddenSentences(documents, torch.from_numpy(hidden), torch.zeros(int(bounds[-1])), bounds)
    losses = torch.rand(int(bounds[-1]), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected, start = [], 0
    for document in shapes:
        count = sum(length for is_hidden, length in document if is_hidden)
        expected.append(sum(losses[start : start + count].tolist()) / count)
        start += count
    assert document_losses(losses, batch).tolist() == pytest.approx(expected, rel=1e-12)


def test_gradients_are_those_of_finite_differences() -> None:
    documents = Documents(torch.arange(8), torch.tensor([0, 2, 4, 6, 8]), torch.tensor([0, 2, 4]))
    batch = HiddenSentences(documents, torch.tensor([0, 3]), torch.arange(5), torch.tensor([0, 2, 5]))
    losses = torch.rand(5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda losses: document_losses(losses, batch), (losses,))
