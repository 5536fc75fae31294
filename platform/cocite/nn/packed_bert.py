"""A BERT-like trunk over packed pairs: no padding but in attention, and no more of the last layer than is read.

The linear layers see the (T, d) tokens of all pairs as one matrix. The last layer's state is read at the first token
alone, so its queries, attention output and feed-forward are computed there alone: the same number with about one layer
less of work. It calls the trunk's own modules, so gradients, autocast, gradient checkpointing, DDP and ZeRO-3 (which
gathers a module's weights when the module is called) work as they do for the trunk's own forward.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from cocite.nn.attention import padded_attention
from cocite.text.pair_batch import PairBatch

try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:  # a torch before 2.10: attention is padded on a GPU too
    varlen_attn = None  # type: ignore[assignment]

FAMILY = frozenset({"bert", "camembert", "electra", "roberta", "xlm-roberta"})
"""Hugging Face model types whose layers are BERT's, module by module."""
SHIFTED = frozenset({"camembert", "roberta", "xlm-roberta"})
"""Those whose first position is ``padding_idx + 1``."""


def supports(trunk: nn.Module) -> bool:
    """Whether a trunk can be run packed."""
    config: Any = trunk.config
    return (
        config.model_type in FAMILY
        and getattr(config, "position_embedding_type", "absolute") in (None, "absolute")
        and not getattr(config, "is_decoder", False)
    )


def positions(trunk: nn.Module, batch: PairBatch) -> Tensor:
    """(T,) the position embedding of each token."""
    within = torch.arange(len(batch.ids), device=batch.ids.device) - batch.offsets[:-1][batch.pairs]
    config: Any = trunk.config
    return within + config.pad_token_id + 1 if config.model_type in SHIFTED else within


def embedded(trunk: Any, batch: PairBatch) -> Tensor:
    """(T, d) what enters the first layer."""
    embeddings = trunk.embeddings
    states = embeddings.word_embeddings(batch.ids)
    if embeddings.token_type_embeddings.num_embeddings > 1:
        states = states + embeddings.token_type_embeddings(batch.types)
    else:
        states = states + embeddings.token_type_embeddings(torch.zeros_like(batch.types))
    states = states + embeddings.position_embeddings(positions(trunk, batch))
    states = embeddings.dropout(embeddings.LayerNorm(states))
    project = getattr(trunk, "embeddings_project", None)
    entering: Tensor = states if project is None else project(states)
    return entering


class Attention:
    """Attention of packed tokens, each to those of its own pair.

    On a GPU in half precision by variable-length flash attention; elsewhere queries, keys and values are padded to the
    longest pair for this one step (few are padded much when pairs of like length come together).
    """

    def __init__(self, batch: PairBatch) -> None:
        self.batch = batch
        lengths = batch.lengths
        device = lengths.device
        self.cumulative = batch.offsets.to(torch.int32)
        self.even = len(batch) * batch.longest == len(batch.ids)
        if not self.even:
            pair = batch.pairs
            width = torch.arange(batch.longest, device=device)
            self.mask = (width[None, :] < lengths[:, None])[:, None, None, :]
            self.place = pair * batch.longest + (
                torch.arange(len(pair), device=device) - batch.offsets[:-1][pair]
            )

    def _padded(self, states: Tensor) -> Tensor:
        """(T, h, e) -> (b, h, longest, e)."""
        b, longest, rest = len(self.batch), self.batch.longest, states.shape[1:]
        if not self.even:
            states = states.new_zeros(b * longest, *rest).index_copy(0, self.place, states)
        return states.view(b, longest, *rest).transpose(1, 2)

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, *, dropout: float, first: bool) -> Tensor:
        """Attend.

        Args:
            query: (T, h, e), or (b, h, e) of the first tokens alone (``first``).
            key, value: (T, h, e).
            dropout: of the attention weights.
            first: whether only the first token of each pair asks.

        Returns:
            (T or b, h * e).
        """
        b = len(self.batch)
        half = query.dtype in (torch.float16, torch.bfloat16)
        if varlen_attn is not None and query.is_cuda and half and not dropout:
            starts = torch.arange(b + 1, device=query.device, dtype=torch.int32) if first else self.cumulative
            most = 1 if first else self.batch.longest
            found = varlen_attn(query, key, value, starts, self.cumulative, most, self.batch.longest)
            return found.flatten(1)  # type: ignore[union-attr]
        asked = query[:, :, None] if first else self._padded(query)
        mask = None if self.even else self.mask
        found = padded_attention(asked, self._padded(key), self._padded(value), mask, dropout=dropout)
        found = found.transpose(1, 2).flatten(2).flatten(0, 1)
        return found if first or self.even else found[self.place]


def _layer(layer: Any, attend: Attention, first: bool, states: Tensor) -> Tensor:
    """One layer: (T, d) -> (T, d), or (b, d) for the first tokens alone."""
    attention, output = layer.attention.self, layer.attention.output
    asking = states[attend.batch.offsets[:-1]] if first else states
    query, key, value = (
        linear(inputs).unflatten(1, (attention.num_attention_heads, -1))
        for linear, inputs in (
            (attention.query, asking),
            (attention.key, states),
            (attention.value, states),
        )
    )
    dropout = attention.dropout.p if attention.training else 0.0
    found = output.dropout(output.dense(attend(query, key, value, dropout=dropout, first=first)))
    states = output.LayerNorm(found + asking)
    inner = layer.intermediate.intermediate_act_fn(layer.intermediate.dense(states))
    return layer.output.LayerNorm(layer.output.dropout(layer.output.dense(inner)) + states)  # type: ignore[no-any-return]


def first_states(trunk: Any, batch: PairBatch) -> Tensor:
    """(b, d) the trunk's last state of each pair's first token.

    Args:
        trunk: a Hugging Face encoder of :data:`FAMILY`.
        batch: pairs on the trunk's device.
    """
    return _run(trunk, batch, first=True)


def all_states(trunk: Any, batch: PairBatch) -> Tensor:
    """(T, d) the trunk's last state of every token: for who reads more than the first."""
    return _run(trunk, batch, first=False)


def _run(trunk: Any, batch: PairBatch, *, first: bool) -> Tensor:
    states = embedded(trunk, batch)
    attend = Attention(batch)
    layers = trunk.encoder.layer
    for i, layer in enumerate(layers):
        step = partial(_layer, layer, attend, first and i == len(layers) - 1)
        if layer.gradient_checkpointing and layer.training:
            states = layer._gradient_checkpointing_func(step, states)
        else:
            states = step(states)
    return states
