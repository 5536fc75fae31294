"""A BERT-like backbone over packed pairs: padding in attention alone, and the last layer only where it is used.

The linear layers see the (T, d) tokens of all pairs as one matrix. Only the first token's state of the last layer is
used, so the queries, attention output and feed-forward of that layer are computed there alone: the same result with
about one layer less of work. The functions here call the backbone's own modules, so gradients, autocast, gradient
checkpointing, DDP and ZeRO-3 (which gathers a module's weights when the module is called) work as they do for the
backbone's own forward.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from cocite.nn.attention import padded_attention
from cocite.nn.varlen_attention import Sequences, applies, varlen_attention
from cocite.text.pair_batch import PairBatch

FAMILY = frozenset({"bert", "camembert", "electra", "roberta", "xlm-roberta"})
"""Hugging Face model types whose layers are BERT's, module by module."""
SHIFTED = frozenset({"camembert", "roberta", "xlm-roberta"})
"""Model types whose first position is ``padding_idx + 1``."""


def supports(backbone: nn.Module) -> bool:
    """Whether a backbone can run over packed pairs."""
    config: Any = backbone.config
    return (
        config.model_type in FAMILY
        and getattr(config, "position_embedding_type", "absolute") in (None, "absolute")
        and not getattr(config, "is_decoder", False)
    )


def positions(backbone: nn.Module, batch: PairBatch) -> Tensor:
    """(T,) the number of the position embedding of each token."""
    within = torch.arange(len(batch.ids), device=batch.ids.device) - batch.offsets[:-1][batch.pairs]
    config: Any = backbone.config
    return within + config.pad_token_id + 1 if config.model_type in SHIFTED else within


def embed(backbone: Any, batch: PairBatch) -> Tensor:
    """(T, d) the input of the first layer."""
    embeddings = backbone.embeddings
    states = embeddings.word_embeddings(batch.ids)
    if embeddings.token_type_embeddings.num_embeddings > 1:
        states = states + embeddings.token_type_embeddings(batch.types)
    else:
        # RoBERTa has one type of token, whatever the pair tokenizer numbers.
        states = states + embeddings.token_type_embeddings(torch.zeros_like(batch.types))
    states = states + embeddings.position_embeddings(positions(backbone, batch))
    states = embeddings.dropout(embeddings.LayerNorm(states))
    project = getattr(backbone, "embeddings_project", None)
    projected: Tensor = states if project is None else project(states)
    return projected


class PairAttention:
    """Attention of packed tokens, each to those of its own pair.

    On a GPU in half precision it uses variable-length flash attention, with dropout too. Elsewhere queries, keys and
    values are padded to the longest pair for this one step (there is little padding when a batch has pairs of like
    length).

    Args:
        batch: the pairs.

    Example:
        >>> batch = PairBatch(ids=torch.tensor([2, 7, 3, 2, 3]), types=torch.zeros(5, dtype=torch.int64),
        ...                   offsets=torch.tensor([0, 3, 5]), longest=3)
        >>> attend = PairAttention(batch)
        >>> value = torch.tensor([1.0, 2.0, 6.0, 5.0, 7.0]).view(5, 1, 1)
        >>> attend(torch.zeros(5, 1, 1), torch.zeros(5, 1, 1), value, dropout=0.0, first=False)[:, 0]  # means of pairs
        tensor([3., 3., 3., 6., 6.])
    """

    def __init__(self, batch: PairBatch) -> None:
        self.batch = batch
        lengths = batch.lengths
        device = lengths.device
        self.sequences = Sequences(batch.offsets.to(torch.int32), batch.longest)
        # Made once: a layer that is computed again for its gradient has to meet the same tensor.
        self.firsts = Sequences(torch.arange(len(batch) + 1, device=device, dtype=torch.int32), 1)
        self.even = len(batch) * batch.longest == len(batch.ids)
        if not self.even:
            pair = batch.pairs
            width = torch.arange(batch.longest, device=device)
            self.mask = (width[None, :] < lengths[:, None])[:, None, None, :]
            self.cells = pair * batch.longest + (
                torch.arange(len(pair), device=device) - batch.offsets[:-1][pair]
            )

    def _padded(self, states: Tensor) -> Tensor:
        """(T, h, e) -> (b, h, longest, e)."""
        b, longest, rest = len(self.batch), self.batch.longest, states.shape[1:]
        if not self.even:
            states = states.new_zeros(b * longest, *rest).index_copy(0, self.cells, states)
        return states.view(b, longest, *rest).transpose(1, 2)

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, *, dropout: float, first: bool) -> Tensor:
        """Attention of queries to keys and values.

        Args:
            query: (T, h, e), or (b, h, e) of the first tokens alone (``first``).
            key, value: (T, h, e).
            dropout: of the attention weights.
            first: whether only the first token of each pair has a query.

        Returns:
            (T or b, h * e).
        """
        if applies(query):
            queries = self.firsts if first else self.sequences
            return varlen_attention(query, key, value, queries, self.sequences, dropout=dropout)
        # One query a pair is even by itself: nothing to pad.
        padded = query[:, :, None] if first else self._padded(query)
        mask = None if self.even else self.mask
        attended = padded_attention(padded, self._padded(key), self._padded(value), mask, dropout=dropout)
        attended = attended.transpose(1, 2).flatten(2).flatten(0, 1)
        return attended if first or self.even else attended[self.cells]


def _layer(layer: Any, attend: PairAttention, first: bool, states: Tensor) -> Tensor:
    """One layer: (T, d) -> (T, d), or (b, d) for the first tokens alone."""
    attention, output = layer.attention.self, layer.attention.output
    queried = states[attend.batch.offsets[:-1]] if first else states
    query, key, value = (
        linear(inputs).unflatten(1, (attention.num_attention_heads, -1))
        for linear, inputs in (
            (attention.query, queried),
            (attention.key, states),
            (attention.value, states),
        )
    )
    dropout = attention.dropout.p if attention.training else 0.0
    attended = output.dropout(output.dense(attend(query, key, value, dropout=dropout, first=first)))
    states = output.LayerNorm(attended + queried)
    inner = layer.intermediate.intermediate_act_fn(layer.intermediate.dense(states))
    return layer.output.LayerNorm(layer.output.dropout(layer.output.dense(inner)) + states)  # type: ignore[no-any-return]


def first_states(backbone: Any, batch: PairBatch) -> Tensor:
    """(b, d) the backbone's last state of each pair's first token.

    Args:
        backbone: a Hugging Face encoder of :data:`FAMILY`.
        batch: pairs on the backbone's device.
    """
    return _run(backbone, batch, first=True)


def all_states(backbone: Any, batch: PairBatch) -> Tensor:
    """(T, d) the backbone's last state of every token."""
    return _run(backbone, batch, first=False)


def _run(backbone: Any, batch: PairBatch, *, first: bool) -> Tensor:
    states = embed(backbone, batch)
    attend = PairAttention(batch)
    layers = backbone.encoder.layer
    for i, layer in enumerate(layers):
        step = partial(_layer, layer, attend, first and i == len(layers) - 1)
        if layer.gradient_checkpointing and layer.training:
            states = layer._gradient_checkpointing_func(step, states)
        else:
            states = step(states)
    return states
