"""The losses of MP-BERT4CR: a triplet loss and three multi-positive triplet losses (section 4.1.5, Eq. 3 to 6).

A loss compares pairs of distances, a near one and a far one, and has a *form*, which makes one number of their
differences: :func:`mean_hinge` (Eq. 3) or :func:`log_sum_exp` (Eq. 4 to 6). In the paper the triplet loss alone has
hinges and it alone has no positives. Each loss takes either form here, and any number of positives, so that what
positives give can be told from what the form gives.

All four take the same arguments, so that one can stand in another's place. In the equations s is the manuscript, t the
target (the cited paper), c_i a positive (a paper cited together with the target), n_j a negative, and ||a - b|| the
Euclidean distance of two vectors. The arguments are:

- ``manuscripts`` (b, d): s of each example.
- ``targets`` (b, d): t of each example.
- ``positives`` (b, n, d): the c_i; n may be 0.
- ``positive_mask`` (b, n) bool: the positives that count.
- ``negatives`` (b, m, d): the n_j of each example, or (m, d) shared by all examples.
- ``negative_mask`` (b, m) bool: the negatives that count.
- ``weights`` (m,): a factor of each exponential, or of each hinge, that a negative is in; None: 1, as in the equations.
- ``form``: of the loss; by default the equation's.

Each loss returns (b,) values, which are 0 where no negative counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

TINY = 1e-12
"""Squared distances below it count as it, so that the gradient at distance 0 is 0 and not 0 / 0."""


class Differences(NamedTuple):
    """Differences of a near and a far distance, which a form makes one number of.

    Attributes:
        values: (b, ..., m) the near distance minus the far one, to each of the negatives.
        mask: bool, true where one counts; its shape broadcasts to that of ``values``.
        times: (b, 1) how many times each counts; None: once.

    Example:
        >>> one = Differences(torch.tensor([[0.5, -2.0]]), torch.tensor([[True, True]]))
        >>> mean_hinge([one]), log_sum_exp([one])
        (tensor([0.7500]), tensor([1.0239]))
    """

    values: Tensor
    mask: Tensor
    times: Tensor | None = None


Form = Callable[[Sequence[Differences], Tensor | None], Tensor]
"""Makes (b,) numbers of differences and of the (m,) weights of the negatives."""


def mean_hinge(
    differences: Sequence[Differences], weights: Tensor | None = None, *, margin: float = 1.0
) -> Tensor:
    """(b,) the (weighted) mean of max(difference + margin, 0) over those that count; 0 where none does.

    Args:
        differences: of a loss.
        weights: (m,) of the negatives; None: 1.
        margin: epsilon of Eq. 3.
    """
    total, count = [], []
    for part in differences:
        hinge = functional.relu(part.values + margin)
        counted = part.mask.to(hinge.dtype).expand(hinge.shape)
        for factor in (weights, part.times):
            counted = counted if factor is None else counted * factor
        total.append((hinge * counted).flatten(1).sum(1))
        count.append(counted.flatten(1).sum(1))
    counts = torch.stack(count).sum(0)
    return torch.stack(total).sum(0) / torch.where(counts > 0, counts, 1.0)


def log_sum_exp(differences: Sequence[Differences], weights: Tensor | None = None) -> Tensor:
    """(b,) log(1 + sum of exp(difference)) over those that count.

    Args:
        differences: of a loss.
        weights: (m,) of the negatives; None: 1.
    """
    parts = []
    for part in differences:
        exponents = part.values
        for factor in (weights, part.times):
            exponents = exponents if factor is None else exponents + factor.log()
        parts.append((exponents, part.mask))
    return log_one_plus(parts)


FormName = Literal["published", "hinge", "log-sum-exp"]
"""``published``: the form that the equation has."""


def euclidean_triplet(
    manuscripts: Tensor,
    targets: Tensor,
    positives: Tensor,  # noqa: ARG001  (the four losses have the same arguments)
    positive_mask: Tensor,  # noqa: ARG001
    negatives: Tensor,
    negative_mask: Tensor,
    weights: Tensor | None = None,
    *,
    form: Form = mean_hinge,
) -> Tensor:
    """max(||s - t|| - ||s - n|| + margin, 0) (Eq. 3).

    The equation has one negative; of several, the (weighted) mean is taken. This loss ignores the positives, and it is
    0 once every negative is farther from the manuscript than the target by the margin.

    Args:
        manuscripts, targets, positives, positive_mask, negatives, negative_mask, weights, form: see the module.

    Example:
        >>> import torch
        >>> s, t, n = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.tensor([[[3.0, 4.0]]])
        >>> none, one = torch.zeros(1, 0, dtype=torch.bool), torch.ones(1, 1, dtype=torch.bool)
        >>> euclidean_triplet(s, t, torch.zeros(1, 0, 2), none, n, one)  # distances 1 and 5, margin 1
        tensor([0.])
        >>> euclidean_triplet(s, t, torch.zeros(1, 0, 2), none, n, one, form=partial(mean_hinge, margin=6.0))
        tensor([2.])
    """
    near = distances(manuscripts, targets)[:, None]
    far = distances_to_negatives(manuscripts[:, None], negatives)[:, 0]  # (b, m)
    return form([Differences(near - far, negative_mask)], weights)


def mpt_tgt(
    manuscripts: Tensor,
    targets: Tensor,
    positives: Tensor,
    positive_mask: Tensor,
    negatives: Tensor,
    negative_mask: Tensor,
    weights: Tensor | None = None,
    *,
    form: Form = log_sum_exp,
) -> Tensor:
    """log(1 + sum_i sum_j [exp(||s - t|| - ||s - n_j||) + exp(||c_i - t|| - ||c_i - n_j||)]) (Eq. 4).

    The loss pulls the positives towards the target, not towards the manuscript. The first term is the same for every
    i, so it counts once for each positive. Without a positive the equation's sums are empty and the target would have
    no gradient; the first term then counts once.

    Args:
        manuscripts, targets, positives, positive_mask, negatives, negative_mask, weights, form: see the module.

    Example:
        >>> import torch
        >>> s, t, n = torch.zeros(1, 2), torch.zeros(1, 2), torch.full((1, 1, 2), 9.0)
        >>> mask = torch.ones(1, 1, dtype=torch.bool)
        >>> near, far = (mpt_tgt(s, t, c, mask, n, mask) for c in (torch.zeros(1, 1, 2), torch.full((1, 1, 2), 9.0)))
        >>> bool(near < 0.001), bool(far > 10)  # the positive lies at the target, or at the negative
        (True, True)
    """
    source = (
        distances(manuscripts, targets)[:, None]
        - distances_to_negatives(manuscripts[:, None], negatives)[:, 0]
    )  # (b, m)
    times = positive_mask.sum(1, keepdim=True).clamp(min=1).to(source.dtype)
    around = distances_to_positives(targets, positives)[:, :, None] - distances_to_negatives(
        positives, negatives
    )  # (b, n, m)
    counted = positive_mask[:, :, None] & negative_mask[:, None]
    return form([Differences(source, negative_mask, times), Differences(around, counted)], weights)


def mpt_src(
    manuscripts: Tensor,
    targets: Tensor,
    positives: Tensor,
    positive_mask: Tensor,
    negatives: Tensor,
    negative_mask: Tensor,
    weights: Tensor | None = None,
    *,
    form: Form = log_sum_exp,
) -> Tensor:
    """log(1 + sum_j exp(||s - t|| - ||s - n_j||) + sum_j sum_i exp(||s - c_i|| - ||s - n_j||)) (Eq. 5).

    The loss pulls the target and the positives alike towards the manuscript. (The equation as printed gives the s of
    its last distance an index i; there is one manuscript an example, and Eq. 6 has the same term without it.) Without
    a positive the first sum alone is left.

    Args:
        manuscripts, targets, positives, positive_mask, negatives, negative_mask, weights, form: see the module.

    Example:
        >>> import torch
        >>> s, t, c, n = (torch.tensor([[x]]) for x in (0.0, 1.0, 2.0, 3.0))
        >>> mask = torch.ones(1, 1, dtype=torch.bool)
        >>> mpt_src(s, t, c[:, None], mask, n[:, None], mask)
        tensor([0.4076])
        >>> torch.log(1 + torch.exp(torch.tensor([1.0 - 3.0])) + torch.exp(torch.tensor([2.0 - 3.0])))
        tensor([0.4076])
    """
    near = torch.cat(
        [distances(manuscripts, targets)[:, None], distances_to_positives(manuscripts, positives)], 1
    )  # (b, 1 + n)
    cited = torch.cat([positive_mask.new_ones(len(positive_mask), 1), positive_mask], 1)
    far = distances_to_negatives(manuscripts[:, None], negatives)  # (b, 1, m)
    counted = cited[:, :, None] & negative_mask[:, None]
    return form([Differences(near[:, :, None] - far, counted)], weights)


def mpt_src_tgt(
    manuscripts: Tensor,
    targets: Tensor,
    positives: Tensor,
    positive_mask: Tensor,
    negatives: Tensor,
    negative_mask: Tensor,
    weights: Tensor | None = None,
    *,
    form: Form = log_sum_exp,
) -> Tensor:
    """log(1 + sum_j exp(||s - t|| - ||s - n_j||) + sum_ji exp(||s - c_i|| - ||s - n_j||)
    + sum_ji exp(||t - c_i|| - ||t - n_j||)) (Eq. 6).

    The loss pulls the target and the positives towards the manuscript (as :func:`mpt_src` does), and the positives
    towards the target, there with the target as the anchor (:func:`mpt_tgt` has the positive as the anchor). Without a
    positive the first sum alone is left.

    Args:
        manuscripts, targets, positives, positive_mask, negatives, negative_mask, weights, form: see the module.

    Example:
        >>> import torch
        >>> s, t, c, n = (torch.tensor([[x]]) for x in (0.0, 1.0, 2.0, 3.0))
        >>> mask = torch.ones(1, 1, dtype=torch.bool)
        >>> mpt_src_tgt(s, t, c[:, None], mask, n[:, None], mask)  # Eq. 5 has no last term: 0.4076
        tensor([0.6265])
    """
    far = distances_to_negatives(torch.stack([manuscripts, targets], 1), negatives)[
        :, :, None
    ]  # (b, 2, 1, m)
    target = distances(manuscripts, targets)[:, None] - far[:, 0, 0]  # (b, m)
    near = torch.stack(
        [distances_to_positives(manuscripts, positives), distances_to_positives(targets, positives)], 1
    )  # (b, 2, n)
    counted = (positive_mask[:, :, None] & negative_mask[:, None])[:, None]  # (b, 1, n, m)
    return form([Differences(target, negative_mask), Differences(near[..., None] - far, counted)], weights)


LOSSES: dict[str, Callable[..., Tensor]] = {
    "triplet": euclidean_triplet,
    "mpt-tgt": mpt_tgt,
    "mpt-src": mpt_src,
    "mpt-src-tgt": mpt_src_tgt,
}


def loss_of(name: str, form: FormName = "published", *, margin: float = 1.0) -> Callable[..., Tensor]:
    """The loss of a name, in a form.

    Args:
        name: of :data:`LOSSES`.
        form: ``published``: the equation's, which is ``hinge`` for ``triplet`` and ``log-sum-exp`` for the others.
        margin: epsilon of hinges; other forms have none.

    Example:
        >>> s, t, c, n = (torch.tensor([[x]]) for x in (0.0, 1.0, 2.0, 3.0))
        >>> given = s, t, c[:, None], torch.ones(1, 1, dtype=torch.bool), n[:, None], torch.ones(1, 1, dtype=torch.bool)
        >>> loss_of("mpt-src", "hinge", margin=1.5)(*given)  # of 1 - 3 and 2 - 3
        tensor([0.2500])
    """
    if form == "published":
        form = "hinge" if name == "triplet" else "log-sum-exp"
    reduce: Form = partial(mean_hinge, margin=margin) if form == "hinge" else log_sum_exp
    return partial(LOSSES[name], form=reduce)


# -- what the losses share -------------------------------------------------------------------------------------


def log_one_plus(exponents: list[tuple[Tensor, Tensor]]) -> Tensor:
    """(b,) log(1 + sum of exp) over the exponents that count, by log-sum-exp: finite however large they are.

    Args:
        exponents: pairs of (b, ...) exponents and of a mask that is true where one counts, of any shape that
            broadcasts to theirs.

    Example:
        >>> import torch
        >>> exponents = torch.tensor([[0.0, 1000.0]])
        >>> log_one_plus([(exponents, torch.tensor([[True, False]]))])  # log(1 + 1)
        tensor([0.6931])
        >>> log_one_plus([(exponents, torch.tensor([[True, True]]))])  # exp(1000) alone would overflow
        tensor([1000.])
    """
    parts = [part.masked_fill(~mask, float("-inf")).flatten(1) for part, mask in exponents]
    return functional.pad(torch.cat(parts, 1), (1, 0)).logsumexp(1)  # the 1 is exp(0)


def distances_to_negatives(anchors: Tensor, negatives: Tensor) -> Tensor:
    """(b, a, m) distances of each example's anchors to its negatives, or to those that all examples share.

    Args:
        anchors: (b, a, d).
        negatives: (b, m, d), or (m, d) for all: then one matrix product computes them, and no example has a copy.
    """
    if negatives.dim() == 2:
        return all_distances(anchors.flatten(0, 1), negatives).view(*anchors.shape[:2], len(negatives))
    return all_distances(anchors, negatives)


def distances_to_positives(anchors: Tensor, positives: Tensor) -> Tensor:
    """(b, n) distance of each example's anchor (b, d) to each of its positives (b, n, d)."""
    return distances(anchors[:, None], positives)


def distances(left: Tensor, right: Tensor) -> Tensor:
    """(...) distance of each vector of ``left`` (..., d) to the one at the same index of ``right``; shapes broadcast.

    Distances are computed in at least float32, whatever autocast says: they are small differences of large numbers.
    """
    with torch.autocast(left.device.type, enabled=False):
        return (at_least_float32(left) - at_least_float32(right)).square().sum(-1).clamp(min=TINY).sqrt()


def all_distances(left: Tensor, right: Tensor) -> Tensor:
    """(..., p, q) distances of all vectors ``left`` (..., p, d) to all of ``right`` (..., q, d).

    One matrix product computes them, so that no (p, q, d) differences are in memory. To keep its rounding small, both
    sides are first moved by the same vector, the mean of ``right``, which changes no distance.
    """
    with torch.autocast(left.device.type, enabled=False):
        left, right = at_least_float32(left), at_least_float32(right)
        # The mean of no vectors is NaN.
        if not right.shape[-2]:
            return left @ right.mT
        centre = right.detach().mean(-2, keepdim=True)
        left, right = left - centre, right - centre
        squares = left.square().sum(-1)[..., :, None] + right.square().sum(-1)[..., None, :]
        return (squares - 2 * (left @ right.mT)).clamp(min=TINY).sqrt()


def at_least_float32(vectors: Tensor) -> Tensor:
    """The vectors in float32, or in float64 where they are."""
    return vectors if vectors.dtype == torch.float64 else vectors.float()
