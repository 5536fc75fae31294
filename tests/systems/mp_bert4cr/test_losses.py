"""The triplet losses of MP-BERT4CR: each against its equation, written out with loops in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from cocite.systems.mp_bert4cr.losses import (
    all_distances,
    distances,
    euclidean_triplet,
    log_sum_exp,
    loss_of,
    mean_hinge,
    mpt_src,
    mpt_src_tgt,
    mpt_tgt,
)

Loss = Callable[..., Tensor]
Vector = list[float]
LOSSES: list[Loss] = [euclidean_triplet, mpt_tgt, mpt_src, mpt_src_tgt]
B, N, M, D = 6, 3, 4, 8


def dist(a: Vector, b: Vector) -> float:
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))


def eq3(s: Vector, t: Vector, _: list[Vector], negatives: list[Vector]) -> float:
    each = [max(dist(s, t) - dist(s, n) + 1.0, 0.0) for n in negatives]
    return sum(each) / len(each) if each else 0.0


def eq4(s: Vector, t: Vector, positives: list[Vector], negatives: list[Vector]) -> float:
    total = 1.0
    for c in positives:
        for n in negatives:
            total += math.exp(dist(s, t) - dist(s, n)) + math.exp(dist(c, t) - dist(c, n))
    if not positives:  # what is said in mpt_tgt's docstring
        total += sum(math.exp(dist(s, t) - dist(s, n)) for n in negatives)
    return math.log(total)


def eq5(s: Vector, t: Vector, positives: list[Vector], negatives: list[Vector]) -> float:
    total = 1.0
    for n in negatives:
        total += math.exp(dist(s, t) - dist(s, n))
    for n in negatives:
        for c in positives:
            total += math.exp(dist(s, c) - dist(s, n))
    return math.log(total)


def eq6(s: Vector, t: Vector, positives: list[Vector], negatives: list[Vector]) -> float:
    total = 1.0
    for n in negatives:
        total += math.exp(dist(s, t) - dist(s, n))
    for n in negatives:
        for c in positives:
            total += math.exp(dist(s, c) - dist(s, n))
    for n in negatives:
        for c in positives:
            total += math.exp(dist(t, c) - dist(t, n))
    return math.log(total)


EQUATIONS = list(zip(LOSSES, [eq3, eq4, eq5, eq6], strict=True))


def batch(
    seed: int = 0, *, n: int = N, shared: bool = False, dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    """Vectors and masks; the first example has every positive and negative, the second no positive."""
    torch.manual_seed(seed)
    negatives = torch.randn(M, D, dtype=dtype) if shared else torch.randn(B, M, D, dtype=dtype)
    positive_mask, negative_mask = torch.rand(B, n) < 0.6, torch.rand(B, M) < 0.7
    positive_mask[:2], negative_mask[:2] = torch.tensor([[True], [False]]), True
    vectors = [
        torch.randn(B, D, dtype=dtype),
        torch.randn(B, D, dtype=dtype),
        torch.randn(B, n, D, dtype=dtype),
    ]
    return [*vectors, positive_mask, negatives, negative_mask]


@pytest.mark.parametrize(("loss", "equation"), EQUATIONS)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("n", [N, 1, 0])
def test_each_is_its_equation(loss: Loss, equation: Callable[..., float], shared: bool, n: int) -> None:
    s, t, c, positive_mask, negatives, negative_mask = given = batch(1, n=n, shared=shared)
    expected = []
    for i in range(B):
        others = negatives if shared else negatives[i]
        expected.append(
            equation(
                s[i].tolist(),
                t[i].tolist(),
                [c[i, k].tolist() for k in range(n) if positive_mask[i, k]],
                [others[k].tolist() for k in range(M) if negative_mask[i, k]],
            )
        )
    found = loss(*given)
    assert found.shape == (B,)
    assert torch.allclose(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=1e-12)
    close = loss(*(part.float() if part.is_floating_point() else part for part in given))
    assert torch.allclose(close, found.float(), atol=1e-5)


def compared(
    name: str, s: Vector, t: Vector, positives: list[Vector], negatives: list[Vector]
) -> list[float]:
    """The differences of distances that a loss compares, each as often as its equation has it."""
    source = [dist(s, t) - dist(s, n) for n in negatives]
    both = [(c, n) for c in positives for n in negatives]
    from_source = [dist(s, c) - dist(s, n) for c, n in both]
    if name == "triplet":
        return source
    if name == "mpt-src":
        return source + from_source
    if name == "mpt-src-tgt":
        return source + from_source + [dist(t, c) - dist(t, n) for c, n in both]
    return source * max(len(positives), 1) + [dist(c, t) - dist(c, n) for c, n in both]


@pytest.mark.parametrize("name", ["triplet", "mpt-tgt", "mpt-src", "mpt-src-tgt"])
@pytest.mark.parametrize("n", [N, 0])
@pytest.mark.parametrize("form", ["hinge", "log-sum-exp"])
def test_form_and_positives_are_set_apart(name: str, n: int, form: str) -> None:
    """The 2 x 2 of the controls: hinges averaged or a log of a sum of exponentials, with and without positives."""
    s, t, c, positive_mask, negatives, negative_mask = given = batch(9, n=n)
    margin, expected = 0.7, []
    for i in range(B):
        values = compared(
            name,
            s[i].tolist(),
            t[i].tolist(),
            [c[i, k].tolist() for k in range(n) if positive_mask[i, k]],
            [negatives[i, k].tolist() for k in range(M) if negative_mask[i, k]],
        )
        if form == "hinge":
            expected.append(sum(max(value + margin, 0.0) for value in values) / max(len(values), 1))
        else:
            expected.append(math.log(1.0 + sum(map(math.exp, values))))
    found = loss_of(name, form, margin=margin)(*given)  # type: ignore[arg-type]
    assert torch.allclose(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=1e-12)


def test_without_positives_the_names_differ_by_their_form_alone() -> None:
    given = batch(10, n=0)
    assert torch.equal(loss_of("triplet")(*given), loss_of("mpt-src-tgt", "hinge")(*given))
    assert torch.equal(loss_of("triplet", "log-sum-exp")(*given), loss_of("mpt-src")(*given))
    assert torch.equal(loss_of("mpt-src")(*given), loss_of("mpt-src-tgt")(*given))


@pytest.mark.parametrize(("name", "loss"), [("triplet", euclidean_triplet), ("mpt-tgt", mpt_tgt)])
def test_a_name_alone_means_its_equation(name: str, loss: Loss) -> None:
    given = batch(11)
    assert torch.equal(loss_of(name, margin=1.0)(*given), loss(*given))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", [partial(mean_hinge, margin=0.5), log_sum_exp])
def test_weights_repeat_negatives_in_either_form(loss: Loss, form: Callable[..., Tensor]) -> None:
    *others, negatives, mask = batch(12, shared=True)
    times = torch.tensor([3, 1, 2, 1])
    weighed = loss(*others, negatives, mask, times.double(), form=form)
    repeated = loss(
        *others, negatives.repeat_interleave(times, 0), mask.repeat_interleave(times, 1), form=form
    )
    torch.testing.assert_close(weighed, repeated, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shared", [False, True])
def test_gradients_are_those_of_finite_differences(loss: Loss, shared: bool) -> None:
    s, t, c, positive_mask, negatives, negative_mask = batch(2, shared=shared)
    vectors = [part.requires_grad_() for part in (s, t, c, negatives)]
    assert torch.autograd.gradcheck(
        lambda s, t, c, n: loss(s, t, c, positive_mask, n, negative_mask), vectors, atol=1e-6
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_shared_negatives_are_as_if_each_had_its_own(loss: Loss) -> None:
    given = batch(3, shared=True)
    own = [*given[:4], given[4].expand(B, M, D), given[5]]
    results, gradients = [], []
    for s, t, c, positive_mask, negatives, negative_mask in (given, own):
        leaves = [part.detach().clone().requires_grad_() for part in (s, t, c)]
        results.append(loss(*leaves, positive_mask, negatives, negative_mask))
        gradients.append(torch.autograd.grad(results[-1].sum(), leaves, allow_unused=True))
    assert torch.allclose(*results, atol=1e-12)
    for one, two in zip(*gradients, strict=True):
        assert (one is None and two is None) or torch.allclose(one, two, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_negative_of_weight_three_is_as_three_of_it(loss: Loss) -> None:
    *others, negatives, mask = batch(5, shared=True)
    times = torch.tensor([3, 1, 2, 1])
    weighed = loss(*others, negatives, mask, times.double())
    repeated = loss(*others, negatives.repeat_interleave(times, 0), mask.repeat_interleave(times, 1))
    torch.testing.assert_close(weighed, repeated, rtol=1e-12, atol=1e-12)
    alone = loss(*others, negatives, torch.zeros_like(mask), times.double())
    assert torch.equal(alone, torch.zeros(B, dtype=torch.float64))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("far", ["target", "positives", "negatives", "all", "none"])
def test_finite_at_any_distance(loss: Loss, dtype: torch.dtype, shared: bool, far: str) -> None:
    s, t, c, positive_mask, negatives, negative_mask = batch(4, shared=shared, dtype=dtype)
    parts = {"source": s, "target": t, "positives": c, "negatives": negatives}
    for name, part in parts.items():
        part.zero_()  # all at one point: every distance is 0
        if far in (name, "all"):
            part[..., list(parts).index(name)] = 1e4
        part.requires_grad_()
    found = loss(s, t, c, positive_mask, negatives, negative_mask)
    assert torch.isfinite(found).all()
    found.sum().backward()
    for part in parts.values():
        assert part.grad is None or torch.isfinite(part.grad).all()
    if far == "target":
        assert found[0] > 9_000
    if far == "negatives":
        assert (found < 1e-3).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_masked_does_not_count(loss: Loss) -> None:
    given = batch(5)
    s, t, c, positive_mask, negatives, negative_mask = given
    other = [s, t, c.masked_fill(~positive_mask[..., None], 7.0), positive_mask]
    other += [negatives.masked_fill(~negative_mask[..., None], -3.0), negative_mask]
    assert torch.allclose(loss(*given), loss(*other), atol=1e-12)
    assert loss(s, t, c, positive_mask, negatives, torch.zeros_like(negative_mask)).eq(0).all()
    assert loss(s, t, c, positive_mask, negatives[:, :0], negative_mask[:, :0]).eq(0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_the_target_is_drawn_near_with_and_without_positives(loss: Loss) -> None:
    """The second example has no positive."""
    s, t, c, positive_mask, negatives, negative_mask = batch(6)
    t.requires_grad_()
    loss(s, t, c, positive_mask, negatives, negative_mask)[:2].sum().backward()
    step = t.detach() - 1e-3 * t.grad
    nearer = distances(s, step)[:2] < distances(s, t.detach())[:2]
    assert nearer[1]
    assert (
        loss(s, step, c, positive_mask, negatives, negative_mask)[0]
        < loss(s, t, c, positive_mask, negatives, negative_mask)[0]
    )


@pytest.mark.parametrize(
    ("loss", "moved"), [(euclidean_triplet, False), (mpt_tgt, True), (mpt_src, True), (mpt_src_tgt, True)]
)
def test_positives_are_moved_by_all_but_the_triplet(loss: Loss, moved: bool) -> None:
    s, t, c, positive_mask, negatives, negative_mask = batch(7)
    c.requires_grad_()
    s.requires_grad_()
    loss(s, t, c, positive_mask, negatives, negative_mask).sum().backward()
    assert (c.grad is not None and bool(c.grad[positive_mask].any())) == moved
    assert c.grad is None or not c.grad[~positive_mask].any()


@pytest.mark.parametrize("loss", LOSSES)
def test_half_precision_vectors_are_measured_in_float32(loss: Loss) -> None:
    given = [part.bfloat16() if part.is_floating_point() else part for part in batch(8, shared=True)]
    exact = [part.double() if part.is_floating_point() else part for part in given]
    with torch.autocast("cpu", torch.bfloat16):
        found = loss(*given)
    assert found.dtype == torch.float32
    assert torch.allclose(found.double(), loss(*exact), atol=1e-5)


def test_distances_by_one_product_are_those_by_differences() -> None:
    torch.manual_seed(0)
    # Far from the origin and close together, where the product of the vectors as they are would round to nothing.
    left, right = 100 + torch.randn(2, 5, 16), 100 + torch.randn(2, 7, 16)
    assert torch.allclose(all_distances(left, right), distances(left[:, :, None], right[:, None]), atol=1e-4)
    assert all_distances(left, right[:, :0]).shape == (2, 5, 0)
    assert all_distances(left.double(), left.double()).diagonal(dim1=1, dim2=2).max() < 1e-5
