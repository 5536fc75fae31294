"""From tokens to sentence vectors: by cocite's packed BERT, or by the model's own forward. :func:`forward_of` decides.

On a CPU, BERT's family runs without padding: each thread has one core and batches of its own. Other architectures (such
as MPNet, DistilBERT or a decoder), and all on a GPU, run by Hugging Face's forward over padded batches of texts of
similar length. Both give the same vectors, in fp32 to 1e-5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cocite.errors import ConfigError
from cocite.nn import packed_bert
from cocite.nn.cpu_kernels import Precision, measure
from cocite.nn.cpu_threads import CPU_TOKENS, one_core_threads, token_batches
from cocite.nn.frozen_bert import FrozenBert
from cocite.nn.precision import inference_dtype, named_dtype
from cocite.systems.sentence_encoder.pooling import Pooling, pool
from cocite.text.pair_batch import PairBatch
from cocite.text.token_lists import TokenLists

SHORT = 64
"""Tokens that one core embeds about as fast as several, which would wait for one another after every operator."""
TOKENS = 8192
"""Tokens of one padded forward pass, padding included."""

_PRECISIONS: dict[torch.dtype, Precision | Literal["int8"]] = {
    torch.float32: "fp32",
    torch.bfloat16: "bf16",
    torch.int8: "int8",
}


class Forward(Protocol):
    """Computes the vectors of tokenized texts.

    Example:
        >>> class Lengths:
        ...     def vectors(self, texts):
        ...         return texts.counts[:, None].astype(np.float32)
        >>> forward: Forward = Lengths()
        >>> forward.vectors(TokenLists.of([[2, 7, 3], [2, 3]])).tolist()
        [[3.0], [2.0]]
    """

    def vectors(self, texts: TokenLists) -> NDArray[np.float32]:
        """(n, d) unit vectors of n texts of at least one token each, in their order."""
        ...


def forward_of(
    model: Any,
    pooling: Pooling,
    *,
    device: torch.device,
    dtype: torch.dtype,
    pad: int = 0,
) -> Forward:
    """The fastest way to compute a model's vectors; on a CPU it uses as many cores as torch.

    Args:
        model: a Hugging Face encoder, in fp32, on the CPU. The result owns it, and may take it apart.
        pooling: how the states of a text become one vector.
        device: where to compute.
        dtype: the precision to compute in; ``torch.int8`` for dense layers in integers.
        pad: the token that pads; the mask hides it.

    Raises:
        ConfigError: int8 for another family than BERT's, or on a GPU.

    Example:
        >>> from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel
        >>> bert = BertModel(BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2))
        >>> other = DistilBertModel(DistilBertConfig(vocab_size=9, dim=8, n_layers=1, n_heads=2, hidden_dim=8))
        >>> cpu = {"device": torch.device("cpu"), "dtype": torch.float32}
        >>> [type(forward_of(model, "mean", **cpu)).__name__ for model in (bert, other)]
        ['PackedForward', 'PaddedForward']
    """
    packs = device.type == "cpu" and packed_bert.supports(model)
    if packs and dtype in _PRECISIONS:
        return PackedForward(model, pooling, dtype=dtype, threads=torch.get_num_threads())
    if dtype == torch.int8:
        raise ConfigError(
            f"precision int8 is of BERT's family on a CPU, not of a {model.config.model_type} on a {device.type}",
            hint="set precision to auto",
        )
    return PaddedForward(model.to(device, dtype), pooling, pad)


def fastest_dtype(model: Any, device: torch.device) -> torch.dtype:
    """``torch.int8`` where dense layers are much faster in it, by :func:`cocite.nn.cpu_kernels.measure`.

    Else, and where ``COCITE_PRECISION`` names one, what :func:`cocite.nn.precision.inference_dtype` finds. Integers are
    for BERT's family on a CPU.
    """
    if named_dtype() is None and device.type == "cpu" and packed_bert.supports(model):
        with one_core_threads(1, "sentence-encoder-probe") as pool:
            if pool.submit(measure, *_widths(model)).result().int8_pays:
                return torch.int8
    return inference_dtype(device)


def _widths(model: Any) -> tuple[int, int]:
    """Width of a model's states, and of those inside its layers."""
    return model.config.hidden_size, model.config.intermediate_size


class PackedForward:
    """cocite's packed BERT with frozen weights, on a CPU. Safe to share among threads.

    Args:
        model: of BERT's family (:func:`cocite.nn.packed_bert.supports`), in fp32; it loses its layers.
        pooling: how the states of a text become one vector.
        dtype: the precision of matrix products: ``torch.float32``, ``torch.bfloat16`` or ``torch.int8``, which has
            dense layers alone in integers.
        threads: CPU cores used.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> bert = BertModel(BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2))
        >>> forward = PackedForward(bert.eval(), "mean", dtype=torch.float32, threads=1)
        >>> forward.vectors(TokenLists.of([[2, 7, 3], [2, 3]])).shape
        (2, 8)
    """

    def __init__(self, model: Any, pooling: Pooling, *, dtype: torch.dtype, threads: int) -> None:
        self.pooling, self.pool = pooling, one_core_threads(threads, "sentence-encoder")
        # In a thread of the pool, which has one core, as encoding does.
        speed = self.pool.submit(measure, *_widths(model)).result()
        precision = _PRECISIONS[dtype]
        of_floats = max(speed.packed, speed.bf16 * (precision == "bf16"))
        self.bert = FrozenBert(model, precision, packed=of_floats > speed.plain)
        # The frozen layers hold weights of their own: the module's would take as much memory again.
        del model.encoder

    def vectors(self, texts: TokenLists) -> NDArray[np.float32]:
        """(n, d) unit vectors of n texts of at least one token each, in their order."""
        batches = token_batches(texts.counts, CPU_TOKENS)
        if len(batches) == 1 and texts.counts.sum() > SHORT:
            # Somebody may wait for a long query: all cores share it.
            return self._vectors(texts)
        result = np.empty((len(texts), self.bert.backbone.config.hidden_size), np.float32)
        parts = self.pool.map(self._vectors, map(texts.take, batches))
        for batch, part in zip(batches, parts, strict=True):
            result[batch] = part
        return result

    @torch.inference_mode()
    def _vectors(self, texts: TokenLists) -> NDArray[np.float32]:
        """The vectors of one batch."""
        ids = torch.from_numpy(TokenLists.joined([texts]).ids.astype(np.int64))
        offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(texts.counts)]))
        # Single texts are pairs without a second half: all tokens are of type 0.
        batch = PairBatch(ids, torch.zeros_like(ids), offsets, int(texts.counts.max()))
        if self.pooling == "cls":
            states, offsets = self.bert.first_states(batch), torch.arange(len(texts) + 1)
        else:
            states = self.bert.all_states(batch)
        vectors: NDArray[np.float32] = pool(states, offsets, self.pooling).numpy()
        return vectors


class PaddedForward:
    """A model's own forward over padded batches, whatever its architecture and device.

    Args:
        model: a Hugging Face encoder, where it is to compute.
        pooling: how the states of a text become one vector.
        pad: the token that pads; the mask hides it.

    Example:
        >>> from transformers import DistilBertConfig, DistilBertModel
        >>> model = DistilBertModel(DistilBertConfig(vocab_size=9, dim=8, n_layers=1, n_heads=2, hidden_dim=8))
        >>> PaddedForward(model.eval(), "cls").vectors(TokenLists.of([[2, 7, 3], [2, 3]])).shape
        (2, 8)
    """

    def __init__(self, model: Any, pooling: Pooling, pad: int = 0) -> None:
        self.model, self.pooling, self.pad = model, pooling, pad

    def vectors(self, texts: TokenLists) -> NDArray[np.float32]:
        """(n, d) unit vectors of n texts of at least one token each, in their order."""
        result = np.empty((len(texts), self.model.config.hidden_size), np.float32)
        order = np.argsort(texts.counts, kind="stable")
        for start, end in _padded_batches(texts.counts[order]):
            batch = order[start:end]
            result[batch] = self._vectors(texts.take(batch)).cpu().numpy()
        return result

    @torch.inference_mode()
    def _vectors(self, texts: TokenLists) -> Tensor:
        """The vectors of one batch, ascending in length."""
        mask = np.arange(texts.counts[-1]) < texts.counts[:, None]
        ids = np.full(mask.shape, self.pad, np.int64)
        ids[mask] = TokenLists.joined([texts]).ids
        device = next(self.model.parameters()).device
        real = torch.from_numpy(mask).to(device)
        found = self.model(input_ids=torch.from_numpy(ids).to(device), attention_mask=real.long())
        offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(texts.counts)])).to(device)
        return pool(found.last_hidden_state[real], offsets, self.pooling)


def _padded_batches(lengths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of texts, ascending in length, whose padded batch has at most ``TOKENS`` tokens."""
    start = 0
    for i, length in enumerate(lengths.tolist()):
        if i > start and (i + 1 - start) * length > TOKENS:
            yield start, i
            start = i
    if len(lengths):
        yield start, len(lengths)
