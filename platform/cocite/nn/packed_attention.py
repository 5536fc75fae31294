"""Attention within packed sequences: dense layers see the (T, d) states of all sequences without padding.

Sequences are stored one after the other, the shortest first, so that those of one length form a rectangle that needs no
copy and no mask. Lengths that few sequences have share a rectangle, padded for this step alone; a dynamic program
chooses which do, so that padding and the handling of rectangles together cost least.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from cocite.nn.varlen_attention import Sequences, applies, varlen_attention

HANDLING = 384
"""Cost of a further rectangle, in tokens."""
UNEVEN = 1.5
"""Cost of a token of a padded rectangle, in tokens of one that needs no padding."""


@dataclass(frozen=True)
class Rectangle:
    """Sequences that attention computes together.

    Attributes:
        start: the first row of the first sequence.
        tokens: number of rows of all its sequences.
        count: number of sequences.
        longest: rows of the longest sequence.
        cells: (tokens,) the cell of each row among (count * longest,); None where all sequences are equally long.
        filled: (count, 1, 1, longest) bool, the cells that have a row; None where all have.

    Example:
        >>> packed, _ = pack_by_length(torch.tensor([4, 4, 4]))  # three sequences of one length
        >>> [(part.count, part.longest, part.filled) for part in packed.rectangles]
        [(3, 4, None)]
    """

    start: int
    tokens: int
    count: int
    longest: int
    cells: Tensor | None
    filled: Tensor | None


@dataclass(frozen=True)
class PackedSequences:
    """Sequences, ascending in length, as rows one after the other.

    Attributes:
        lengths: (n,) rows of each sequence, at least one.
        host_lengths: the same, on the CPU.

    Example:
        >>> packed, order = pack_by_length(torch.tensor([3, 1, 2]))
        >>> packed.owner, packed.positions
        (tensor([0, 1, 1, 2, 2, 2]), tensor([0, 0, 1, 0, 1, 2]))
        >>> packed.mean(torch.arange(6.0)[:, None])[:, 0]
        tensor([0.0000, 1.5000, 4.0000])
    """

    lengths: Tensor
    host_lengths: NDArray[np.int64]

    @cached_property
    def offsets(self) -> Tensor:
        """(n + 1,) the first row of each sequence, and the number of all rows."""
        return functional.pad(self.lengths.cumsum(0), (1, 0))

    @cached_property
    def owner(self) -> Tensor:
        """(T,) the sequence of each row."""
        numbers = torch.arange(len(self.lengths), device=self.lengths.device)
        # With the size known from the host, a GPU need not be waited for.
        return numbers.repeat_interleave(self.lengths, output_size=int(self.host_lengths.sum()))

    @cached_property
    def positions(self) -> Tensor:
        """(T,) the position of each row in its sequence."""
        rows = torch.arange(len(self.owner), device=self.lengths.device)
        return rows - self.offsets[:-1][self.owner]

    @cached_property
    def sequences(self) -> Sequences:
        """What variable-length attention needs to know."""
        return Sequences(self.offsets.to(torch.int32), int(self.host_lengths[-1]))

    @cached_property
    def rectangles(self) -> tuple[Rectangle, ...]:
        """Rectangles that hold all sequences, in order."""
        result, first = [], 0
        begins = np.concatenate([[0], np.cumsum(self.host_lengths)])
        for last in rectangles(self.host_lengths):
            start, end = int(begins[first]), int(begins[last])
            count, longest = last - first, int(self.host_lengths[last - 1])
            cells = filled = None
            if count * longest != end - start:
                filled = torch.arange(longest, device=self.lengths.device) < self.lengths[first:last, None]
                cells = (self.owner[start:end] - first) * longest + self.positions[start:end]
                filled = filled[:, None, None]
            result.append(Rectangle(start, end - start, count, longest, cells, filled))
            first = last
        return tuple(result)

    def mean(self, states: Tensor) -> Tensor:
        """(n, d) the mean of each sequence's rows, in fp32."""
        means: Tensor = _Mean.apply(states, self)  # type: ignore[no-untyped-call]
        return means

    def sum(self, states: Tensor) -> Tensor:
        """(n, d) the sum of each sequence's rows, in fp32."""
        return self.mean(states) * self.lengths[:, None]


def rectangles(lengths: NDArray[np.int64]) -> list[int]:
    """The ends of the rectangles of least cost, for sequences that are sorted by length.

    Args:
        lengths: (n,) ascending.

    Returns:
        For each rectangle the number of the sequence after its last one.
    """
    if not len(lengths):
        return []
    distinct, counts = np.unique(lengths, return_counts=True)
    sequences, tokens = (np.concatenate([[0], np.cumsum(part)]) for part in (counts, counts * distinct))
    best, cut = np.zeros(len(distinct) + 1), np.zeros(len(distinct) + 1, np.int64)
    for last in range(1, len(distinct) + 1):
        count = sequences[last] - sequences[:last]
        padded = UNEVEN * count * distinct[last - 1]
        # Sequences of one length need no padding, and their tokens cost no more than themselves.
        padded[last - 1] = tokens[last] - tokens[last - 1]
        cost = best[:last] + HANDLING + padded
        cut[last] = cost.argmin()
        best[last] = cost[cut[last]]
    ends, last = [], len(distinct)
    while last:
        ends.append(int(sequences[last]))
        last = int(cut[last])
    return ends[::-1]


def pack_by_length(lengths: Tensor) -> tuple[PackedSequences, Tensor]:
    """Sequences sorted by length.

    Args:
        lengths: (n,) rows of each sequence, in any order.

    Returns:
        The sequences, ascending in length; and (n,) the number that each had in ``lengths``.
    """
    # One copy to the host here: shapes are chosen there, and each later look would wait for the GPU again.
    host = lengths.cpu().numpy()
    order = np.argsort(host, kind="stable")
    on_device = torch.from_numpy(order).to(lengths.device)
    return PackedSequences(lengths[on_device], host[order]), on_device


def row_indices(starts: Tensor, packed: PackedSequences) -> Tensor:
    """(T,) the indices ``starts[i] ... starts[i] + lengths[i] - 1`` of every sequence i, one after the other."""
    return starts[packed.owner] + packed.positions


def attention(
    projected: Tensor, packed: PackedSequences, heads: int, *, dropout: float = 0.0, causal: bool = False
) -> Tensor:
    """Scaled dot-product attention of each row to those of its own sequence (Vaswani et al. 2017, Eq. 1).

    Args:
        projected: (T, 3 d) queries, keys and values side by side.
        packed: the sequences.
        heads: number of heads that share d.
        dropout: of the attention weights.
        causal: whether a row attends only to itself and those before it.

    Returns:
        (T, d).
    """
    query, key, value = projected.view(len(projected), 3, heads, -1).unbind(1)
    if applies(query):
        whole = packed.sequences
        return varlen_attention(query, key, value, whole, whole, dropout=dropout, causal=causal)
    result: Tensor = _Attention.apply(projected, packed, heads, dropout, causal)  # type: ignore[no-untyped-call]
    return result


class _Attention(torch.autograd.Function):
    """Attention rectangle by rectangle, which reads one tensor and writes one: no split, no join, no common padding."""

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, packed: PackedSequences, heads: int, dropout: float, causal: bool
    ) -> Tensor:
        """See :func:`attention`."""
        width = projected.shape[1] // (3 * heads)
        result = projected.new_empty(len(projected), heads * width)
        saved: list[Tensor] = []
        for part in packed.rectangles:
            query, key, value = _heads(projected, part, 3, heads)
            weights = _attention_weights(query, key, part, heads, causal)
            if dropout:
                drop = torch.rand_like(weights, dtype=torch.float32) >= dropout
                attended = torch.bmm(weights * drop / (1 - dropout), value)
                saved += [query, key, value, weights, drop]
            else:
                attended = torch.bmm(weights, value)
                saved += [query, key, value, weights]
            _write_rows(result, attended, part, heads)
        ctx.save_for_backward(*saved)
        ctx.packed, ctx.heads, ctx.dropout, ctx.shape = packed, heads, dropout, projected.shape
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient at the projections."""
        (gradient,) = gradients
        heads, saved, each = ctx.heads, ctx.saved_tensors, 5 if ctx.dropout else 4
        result = gradient.new_empty(ctx.shape)
        for number, part in enumerate(ctx.packed.rectangles):
            query, key, value, weights, *drop = saved[each * number : each * (number + 1)]
            (outer,) = _heads(gradient, part, 1, heads)
            at_weights = torch.bmm(outer, value.transpose(1, 2))
            used = weights
            if drop:
                used = weights * drop[0] / (1 - ctx.dropout)
                at_weights = at_weights * drop[0] / (1 - ctx.dropout)
            at_least = accumulation_dtype(gradient.dtype)
            at_scores = torch._softmax_backward_data(
                at_weights.to(at_least), weights.to(at_least), -1, at_least
            )
            at_scores = at_scores.to(gradient.dtype)
            at_scores *= query.shape[-1] ** -0.5
            at_all = query.new_empty(3, *query.shape)
            # Into one tensor, so that all three gradients go back to their rows in one copy.
            torch.bmm(at_scores, key, out=at_all[0])
            torch.bmm(at_scores.transpose(1, 2), query, out=at_all[1])
            torch.bmm(used.transpose(1, 2), outer, out=at_all[2])
            _write_rows(result, at_all, part, heads)
        return result, None, None, None, None


def _heads(rows: Tensor, part: Rectangle, kinds: int, heads: int) -> Tensor:
    """(T, kinds * d) -> (kinds, count * heads, longest, d / heads) of a rectangle, zero where it is padded."""
    own = rows[part.start : part.start + part.tokens]
    if part.cells is not None:
        own = own.new_zeros(part.count * part.longest, own.shape[1]).index_copy_(0, part.cells, own)
    split = own.view(part.count, part.longest, kinds, heads, -1).permute(2, 0, 3, 1, 4)
    return split.reshape(kinds, part.count * heads, part.longest, -1)


def _write_rows(result: Tensor, states: Tensor, part: Rectangle, heads: int) -> None:
    """Write (kinds, count * heads, longest, d / heads), or one kind, into a rectangle's rows of (T, kinds * d)."""
    shape = (-1, part.count, heads, part.longest, states.shape[-1])
    whole = states.view(shape).permute(1, 3, 0, 2, 4)
    rows = result[part.start : part.start + part.tokens]
    if part.cells is None:
        rows.view(whole.shape).copy_(whole)
    else:
        torch.index_select(whole.reshape(part.count * part.longest, -1), 0, part.cells, out=rows)


def _attention_weights(query: Tensor, key: Tensor, part: Rectangle, heads: int, causal: bool) -> Tensor:
    """(count * heads, longest, longest) attention weights of each row, in the projections' precision."""
    scale = query.shape[-1] ** -0.5
    nothing = query.new_zeros(1, 1, 1)
    # beta=0 ignores the first argument: this is a product scaled in one kernel.
    scores = torch.baddbmm(nothing, query, key.transpose(1, 2), beta=0, alpha=scale)
    scores = scores.to(accumulation_dtype(scores.dtype))
    if part.filled is not None:
        each = scores.view(part.count, heads, part.longest, part.longest)
        each.masked_fill_(~part.filled, -torch.inf)
    if causal:
        later = torch.ones(part.longest, part.longest, dtype=torch.bool, device=scores.device).triu_(1)
        scores.masked_fill_(later, -torch.inf)
    # Softmax in bf16 takes a CPU several times as long as in fp32.
    return scores.softmax(-1).to(query.dtype)


class _Mean(torch.autograd.Function):
    """The mean of each sequence's rows."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, packed: PackedSequences) -> Tensor:
        """(T, d) -> (n, d)."""
        ctx.packed, ctx.dtype = packed, states.dtype
        result = states.new_zeros(
            len(packed.lengths), states.shape[1], dtype=accumulation_dtype(states.dtype)
        )
        # One kernel for all: rectangle by rectangle, a GPU would start one for each.
        if states.is_cuda:
            result.index_add_(0, packed.owner, states.to(result.dtype))
            return result.div_(packed.lengths[:, None])
        first = 0
        for part in packed.rectangles:
            rows = states[part.start : part.start + part.tokens]
            into = result[first : first + part.count]
            if part.cells is None:
                torch.sum(rows.view(part.count, part.longest, -1), 1, dtype=result.dtype, out=into)
            else:
                owner = packed.owner[part.start : part.start + part.tokens] - first
                into.index_add_(0, owner, rows.to(result.dtype))
            first += part.count
        return result.div_(packed.lengths[:, None])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """(n, d) -> (T, d)."""
        each = (gradients[0] / ctx.packed.lengths[:, None]).to(ctx.dtype)
        return each.index_select(0, ctx.packed.owner), None


def accumulation_dtype(dtype: torch.dtype) -> torch.dtype:
    """The precision in which sums and norms of states of a precision are computed: at least fp32."""
    return torch.promote_types(dtype, torch.float32)
