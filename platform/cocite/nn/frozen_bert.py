"""A BERT-like backbone with frozen weights for scoring on a CPU: the results of :mod:`cocite.nn.packed_bert`, faster.

Pairs are packed: each dense layer is one matrix product over all tokens of a batch, fused with the operation after it,
and the three projections of attention are one. Attention runs pair by pair, so that there is no padding at all and the
scores of one pair stay in the processor's cache; one pair keeps a core busy for a millisecond, so a loop over pairs
costs nothing. torch's fused attention takes one and a half (fp32) or two (bf16) times as long as two matrix products
with an exponential between them. So the weights are ``2^(s - c)``, normalised after they were applied to the values.

In fp32 ``c`` is 0. The sum of each row's weights says whether they neither overflowed nor lost digits; pairs where they
did are computed with softmax. In bf16 ``c`` is not each row's maximum but a bound that keeps the largest possible score
of a pair's head (by the norms of its queries and keys) from overflowing. Should all weights of a row underflow, the
result is not finite, and the batch is computed again with softmax.

oneDNN compiles a product for each shape that it meets. That takes a third of the time of a dense layer over 900 rows,
and five times that of a pair's scores in bf16. Packed batches hardly ever have one number of tokens twice, so rows of
zeros are added up to multiples of :data:`ROWS` and :data:`PAIR_ROWS`: few shapes are left, and they stay compiled.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor

from cocite.nn import packed_bert
from cocite.nn.cpu_kernels import DTYPES, Dense, Precision, can_pack
from cocite.nn.int8_dense import Int8Dense
from cocite.text.pair_batch import PairBatch

LARGEST = 100.0
"""Scores are shifted to be below this: 2^100 times any number of tokens is far from overflow.

In fp32 the sum of a row's weights is between 2^-100 and 2^100: then a weight of 2^-24 of the largest one, which no
longer changes the result, is still above the least number that has all its digits, 2^-126.
"""

ROWS = 32
"""Rows of the products of dense layers are a multiple of this where oneDNN computes them."""
PAIR_ROWS = 8
"""Rows of the products within a pair are a multiple of this where oneDNN computes them, which is in bf16."""

Frozen = Callable[[Tensor, Tensor | None], Dense | Int8Dense]
"""Makes a dense layer of a weight and a bias."""


class _Layer:
    """One layer's frozen weights."""

    def __init__(self, layer: Any, dense: Frozen, scale: float) -> None:
        output = layer.attention.output
        self.all = _projections(layer, slice(3), dense, scale)
        self.out, self.inner, self.outer = (
            dense(linear.weight, linear.bias)
            for linear in (output.dense, layer.intermediate.dense, layer.output.dense)
        )
        self.activation = layer.intermediate.intermediate_act_fn
        self.norms = output.LayerNorm, layer.output.LayerNorm


def _projections(layer: Any, parts: slice, dense: Frozen, scale: float) -> Dense | Int8Dense:
    """Some of a layer's projections to queries, keys and values, in this order, as one; queries are scaled."""
    attention = layer.attention.self
    query, keys = attention.query, (attention.key, attention.value)
    weights = [query.weight * scale, *(linear.weight for linear in keys)]
    biases = [query.bias * scale, *(linear.bias for linear in keys)]
    return dense(torch.cat(weights[parts]), torch.cat(biases[parts]))


class FrozenBert:
    """Computes the last state of each pair's first token, or of every token. Safe to share among threads.

    Args:
        backbone: a backbone that :func:`packed_bert.supports`, on the CPU; its weights must not change afterwards.
        precision: of matrix products. States are summed and normalised in fp32, which costs little and has a third of
            the error of bf16 throughout. With ``int8`` attention is in fp32, and only dense layers in integers.
        packed: whether the dense layers are oneDNN's; int8 layers are in any case.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> config = BertConfig(vocab_size=20, hidden_size=8, num_hidden_layers=2, num_attention_heads=2,
        ...                     intermediate_size=16)
        >>> backbone = BertModel(config, add_pooling_layer=False).eval()
        >>> batch = PairBatch(ids=torch.tensor([2, 7, 3, 2, 8, 9, 3]), types=torch.zeros(7, dtype=torch.int64),
        ...                   offsets=torch.tensor([0, 3, 7]), longest=4)
        >>> states = FrozenBert(backbone, "fp32", packed=False).first_states(batch)
        >>> with torch.no_grad():
        ...     torch.allclose(states, packed_bert.first_states(backbone, batch), atol=1e-5)
        True
    """

    def __init__(self, backbone: Any, precision: Precision | Literal["int8"], *, packed: bool) -> None:
        self.backbone = backbone
        dense: Frozen = Int8Dense
        self.dtype = torch.float32
        if precision != "int8":
            self.dtype = DTYPES[precision]
            dense = partial(Dense, dtype=self.dtype, packed=packed)
        compiled = precision == "int8" or (packed and can_pack(self.dtype))
        self.rows = ROWS if compiled else 1
        self.pair_rows = PAIR_ROWS if precision == "bf16" else 1
        config = backbone.config
        self.heads = config.num_attention_heads
        self.activation = config.hidden_act if isinstance(config.hidden_act, str) else ""
        width = backbone.encoder.layer[0].attention.self.attention_head_size
        # Powers of two are cheaper than powers of e; log2(e) goes into the queries' weights with 1 / sqrt(width).
        self.scale = width**-0.5 * math.log2(math.e)
        self.layers = [_Layer(layer, dense, self.scale) for layer in backbone.encoder.layer]
        # First tokens alone have queries in the last layer, so its projections are there in two parts as well.
        last = backbone.encoder.layer[-1]
        self.query, self.keys = (
            _projections(last, parts, dense, self.scale) for parts in (slice(1), slice(1, 3))
        )
        # Threads share this object, and each needs a buffer of its own.
        self._scratch = threading.local()

    @torch.inference_mode()
    def first_states(self, batch: PairBatch) -> Tensor:
        """(b, d) float32."""
        return self._checked(batch, first=True)

    @torch.inference_mode()
    def all_states(self, batch: PairBatch) -> Tensor:
        """(T, d) float32, the states of every token."""
        return self._checked(batch, first=False)

    def _checked(self, batch: PairBatch, *, first: bool) -> Tensor:
        states = self._run(batch, first=first, careful=False)
        if not bool(states.isfinite().all()):
            states = self._run(batch, first=first, careful=True)
        return states

    def _run(self, batch: PairBatch, *, first: bool, careful: bool) -> Tensor:
        offsets = batch.offsets.tolist()
        tokens = offsets[-1]
        states = _padded(packed_bert.embed(self.backbone, batch), self.rows)
        for layer in self.layers[:-1] if first else self.layers:
            projected = self._split(layer.all(states.to(self.dtype)), 3)
            attended = torch.empty(states.shape, dtype=self.dtype)
            attended[tokens:] = 0
            target = attended.view(len(attended), self.heads, -1)
            for start, end in itertools.pairwise(offsets):
                self._attend(projected[start:end], target[start:end], careful=careful)
            states = self._after_attention(layer, attended, states)
        if not first:
            return states[:tokens]
        first_tokens = _padded(states[batch.offsets[:-1]], self.pair_rows)
        query = self.query(first_tokens.to(self.dtype))[: len(batch)]
        key, value = self._split(self.keys(states.to(self.dtype)), 2)[:tokens].unbind(1)
        attended = _padded(self._attend_first(batch, query, key, value), self.pair_rows)
        return self._after_attention(self.layers[-1], attended, first_tokens)[: len(batch)]

    def _split(self, states: Tensor, parts: int) -> Tensor:
        """(T, parts * d) -> (T, parts, h, e)."""
        return states.view(len(states), parts, self.heads, -1)

    def _after_attention(self, layer: _Layer, attended: Tensor, states: Tensor) -> Tensor:
        """(n, d) a layer's output, given the (n, d) output of its attention and the (n, d) input of the layer."""
        states = layer.norms[0](layer.out.added(attended, states))
        inner = layer.inner.activated(states.to(self.dtype), self.activation, layer.activation)
        output: Tensor = layer.norms[1](layer.outer.added(inner, states))
        return output

    def _attend(self, states: Tensor, target: Tensor, *, careful: bool) -> None:
        """Attention within one pair: (n, 3, h, e) queries, keys and values -> ``target``, (n, h, e)."""
        target = target.transpose(0, 1)
        tokens = len(states)
        # Head by head and dense: the copy costs a tenth of what the products lose to strides.
        n, h = tokens + -tokens % self.pair_rows, self.heads
        query, key, value = packed = states.new_empty(3, h, n, states.shape[-1])
        packed[:, :, :tokens] = states.permute(1, 2, 0, 3)
        packed[:, :, tokens:] = 0
        scores, key = self._buffer(h * n * n).view(h, n, n), key.transpose(1, 2)
        beyond = scores[:, :, tokens:]
        if not careful and self.dtype == torch.float32:
            sums = torch.bmm(query, key, out=scores).exp2_().sum(-1, keepdim=True)
            least, most = sums.aminmax()
            careful = not (float(least) > 2**-LARGEST and float(most) < 2**LARGEST)  # a NaN is neither
            if not careful:
                torch.div(torch.bmm(scores, value), sums, out=target)
                return
        if careful:
            torch.bmm(query, key, out=scores)
            beyond.fill_(-torch.inf)
            target.copy_(torch.bmm(torch.softmax(scores * math.log(2), -1), value)[:, :tokens])
            return
        # |q k| <= |q| |k|: the bound costs a pass over the queries and keys, where a maximum costs one over all
        # scores.
        largest = torch.linalg.vector_norm(packed[:2], dim=-1).amax(-1).prod(0)  # (h,)
        if bool((largest < LARGEST).all()):
            torch.bmm(query, key, out=scores)
        else:
            torch.baddbmm((LARGEST - largest).clamp(max=0)[:, None, None], query, key, out=scores)
        scores.exp2_()
        beyond.zero_()
        # Divided after the product, of e numbers a row instead of n.
        sums = scores[:, :tokens].sum(-1, keepdim=True)
        torch.div(torch.bmm(scores, value)[:, :tokens], sums, out=target)

    def _buffer(self, size: int) -> Tensor:
        """This thread's buffer for one pair's scores: allocating one for each pair would cost more than the product."""
        buffer: Tensor | None = getattr(self._scratch, "buffer", None)
        if buffer is None or len(buffer) < size:
            buffer = self._scratch.buffer = torch.empty(size, dtype=self.dtype)
        return buffer[:size]

    def _attend_first(self, batch: PairBatch, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Attention of each pair's first token to its pair, in fp32.

        Args:
            batch: b pairs, T tokens.
            query: (b, d).
            key, value: (T, h, e).

        Returns:
            (b, d).
        """
        lengths, pair = batch.lengths, batch.pairs
        queries = query.float().view(len(batch), self.heads, -1)
        scores = (queries[pair] * key).sum(-1) * math.log(2)  # (T, h)
        top = torch.segment_reduce(scores, "max", lengths=lengths, axis=0)
        weights = torch.exp(scores - top[pair])
        total = torch.segment_reduce(weights, "sum", lengths=lengths, axis=0)
        sums = torch.segment_reduce(weights[:, :, None] * value, "sum", lengths=lengths, axis=0)
        return (sums / total[:, :, None]).flatten(1).to(self.dtype)


def _padded(states: Tensor, multiple: int) -> Tensor:
    """(n, ...) with rows of zeros up to a multiple; the same tensor where there is nothing to add."""
    missing = -len(states) % multiple
    return torch.cat([states, states.new_zeros(missing, *states.shape[1:])]) if missing else states
