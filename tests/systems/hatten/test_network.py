"""HAtten's vectors: the same however documents are packed, with the right gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from helpers.small_hatten import small_hatten
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from cocite.systems.hatten.network import (
    Documents,
    Hatten,
    HattenModelSettings,
    pack,
)
from cocite.text.paragraphs import Paragraphs


def texts(lengths: list[int], words: int = 50) -> Paragraphs:
    rng = np.random.default_rng(3)
    tokens = rng.integers(3, words, sum(lengths)).astype(np.int32)
    return Paragraphs(np.concatenate([[0], np.cumsum(lengths)]), tokens)


def documents(
    model: Hatten, paragraphs: Paragraphs, parts: list[list[int]], queries: list[bool]
) -> Documents:
    return pack(paragraphs, np.array(parts), np.array(queries), model.settings, bucket=40)


PARTS = [[0, 1, 2], [0, 1, -1], [3, 4, -1], [5, -1, 6], [0, 1, 7], [5, -1, -1], [8, 4, -1]]

LENGTHS = [3, 17, 9, 4, 0, 6, 11, 2, 5]

QUERIES = [True, False, False, True, True, True, False]


@pytest.mark.parametrize(
    "settings", [{}, {"bag": False}, {"attention": False}, {"roles": False, "gap_positions": False}]
)
def test_a_document_has_the_same_vector_alone_and_in_any_batch(settings: dict[str, bool]) -> None:
    model, paragraphs = small_hatten(**settings), texts(LENGTHS)
    together = model(documents(model, paragraphs, PARTS, QUERIES))
    assert torch.allclose(together.norm(dim=1), torch.ones(len(PARTS)))
    for i, (part, query) in enumerate(zip(PARTS, QUERIES, strict=True)):
        assert torch.allclose(model(documents(model, paragraphs, [part], [query]))[0], together[i], atol=1e-5)
    some = [4, 2, 3]
    again = model(documents(model, paragraphs, [PARTS[i] for i in some], [QUERIES[i] for i in some]))
    assert torch.allclose(again, together[some], atol=1e-5)


def test_a_paragraph_is_packed_once_and_hardly_padded() -> None:
    model, paragraphs = small_hatten(), texts([10] * 30 + [4] * 30)
    parts = [[i, 30 + i, -1] for i in range(30)] * 4
    packed = documents(model, paragraphs, parts, [False] * 120)
    assert len(packed.lengths) == 60
    assert len(packed.tokens) == 30 * 14
    assert len(packed.cells) <= 1.05 * 30 * 14
    assert sum(rows for rows, _ in packed.shapes) == 60


def test_a_title_is_not_padded_to_its_abstract() -> None:
    lengths = np.array([10, 200, 90, 88])
    paragraphs = Paragraphs(np.concatenate([[0], np.cumsum(lengths)]), np.zeros(lengths.sum(), np.int32))
    parts = np.array([[0, 1, 2], [0, 1, 3]])
    packed = pack(paragraphs, parts, np.array([True, True]), HattenModelSettings())
    assert packed.shapes == ((1, 200), (2, 90), (1, 10))


def test_order_role_and_the_gaps_place_count_where_they_should() -> None:
    model = small_hatten()
    paragraphs = Paragraphs(
        np.array([0, 4, 8, 12]), np.array([9, 1, 7, 8, 9, 7, 1, 8, 9, 7, 1, 8], np.int32)
    )  # the same words with the gap (1) at two places; as context and as title
    found = model(documents(model, paragraphs, [[0, -1, -1], [1, -1, -1]], [False, False]))
    assert not torch.allclose(found[0], found[1], atol=1e-4)
    roles = model(documents(model, paragraphs, [[0, -1, -1], [0, -1, -1]], [False, True]))
    assert not torch.allclose(roles[0], roles[1], atol=1e-4)
    packed = documents(model, paragraphs, [[1, -1, 0], [2, -1, 1]], [True, True])
    of_context = packed.positions[packed.in_context]
    assert sorted(of_context.tolist()) == sorted([31, 32, 33, 34, 30, 31, 32, 33])


def test_the_model_has_the_gradients_of_finite_differences() -> None:
    model = small_hatten(words=9, dimension=4, heads=2, feed_forward=5).double()
    packed = documents(model, texts([2, 3, 2], 9), [[0, 1, 2], [0, 1, -1]], [True, False])
    names = ["words.weight", "word_weight.weight", "place_weight", "type_weight", "gate", "types.weight"]
    values = [dict(model.named_parameters())[name].detach().clone().requires_grad_() for name in names]

    def run(*values: Tensor) -> Tensor:
        module = torch.func.functional_call(model, dict(zip(names, values, strict=True)), (packed,))
        return torch.as_tensor(module).sum(0)

    assert torch.autograd.gradcheck(run, values)


def test_gradients_computed_again_are_the_same_and_keep_less() -> None:
    def gradients(recompute: bool) -> tuple[list[Tensor], int]:
        torch.manual_seed(0)
        model = small_hatten(bag=False, dropout=0.2).train()
        if recompute:
            model.gradient_checkpointing_enable()
        torch.manual_seed(1)
        kept: list[Tensor] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
            vectors = model(documents(model, texts([30, 20, 9]), [[0, 1, -1], [2, -1, -1]], [False, True]))
        vectors.sum(dim=0)[0].backward()
        return [p.grad for p in model.parameters() if p.grad is not None], sum(t.nbytes for t in kept)

    (plain, much), (again, little) = gradients(False), gradients(True)
    assert all(torch.equal(one, other) for one, other in zip(plain, again, strict=True))
    assert little < much / 2


def test_attention_comes_in_through_its_gate() -> None:
    model, paragraphs = small_hatten(), texts(LENGTHS)
    packed = documents(model, paragraphs, PARTS, QUERIES)
    bags = model(packed, attend=False)
    assert not torch.allclose(model(packed), bags, atol=1e-3)
    model.gate.data.zero_()
    assert torch.equal(model(packed), bags)
    model.train()(packed)[:, 0].sum().backward()
    assert model.gate.grad is not None
    assert model.gate.grad != 0


def test_dropped_words_leave_each_paragraph_one() -> None:
    model = small_hatten(word_dropout=0.99).train()
    torch.manual_seed(5)
    found = model(documents(model, texts(LENGTHS), PARTS, QUERIES))
    assert torch.isfinite(found).all()
    assert not torch.equal(found, model(documents(model, texts(LENGTHS), PARTS, QUERIES)))


def test_no_flop_goes_to_padding_or_repeats() -> None:
    """Twelve times the same documents cost what one of each does, but for the document level."""
    model, paragraphs = small_hatten(bag=False), texts([20] * 8)

    def flops(times: int) -> int:
        packed = documents(model, paragraphs, [[i, 4 + i, -1] for i in range(4)] * times, [False] * 4 * times)
        with FlopCounterMode(display=False) as counter:
            model(packed)
        return counter.get_total_flops()

    level = flops(2) - flops(1)
    assert flops(12) == flops(1) + 11 * level
    assert level < 0.2 * flops(1)


def test_heads_must_divide_the_dimension_and_something_must_be_left() -> None:
    with pytest.raises(ValueError, match="do not divide"):
        HattenModelSettings(dimension=10, heads=3)
    with pytest.raises(ValueError, match="one of them is needed"):
        HattenModelSettings(attention=False, bag=False)
