"""Scores many pairs with a cross-encoder: sorted by length, in batches of a token budget, by several threads.

On a CPU each thread has one core and batches of its own, so that no core waits for another within a layer. A GPU gets
its batches from one thread. Trunks of BERT's family run without padding; others by their own forward, padded to the
longest pair of batches of similar length.

Scores do not depend on which pairs are scored together, up to rounding: in fp32 they are those of the padded backbone
within 1e-4 and rank alike; bf16 keeps 8 binary digits, see :attr:`PairScorer.precision`.
"""

from __future__ import annotations

import copy
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from cocite.errors import ConfigError
from cocite.nn import packed_bert
from cocite.nn.cpu_kernels import DTYPES, Precision, Speed, measure
from cocite.nn.cpu_threads import CPU_TOKENS, one_core_threads, token_batches
from cocite.nn.frozen_bert import FrozenBert
from cocite.nn.precision import named_dtype
from cocite.systems.cross_encoder.network import CrossEncoder
from cocite.text.pair_batch import PairBatch
from cocite.text.token_lists import TokenLists

GPU_TOKENS = 65_536
"""Tokens of a batch on a GPU."""


class PairScorer:
    """A cross-encoder frozen for scoring. Safe to share among threads.

    Args:
        model: the cross-encoder; in fp32, on the CPU. Its weights must not change afterwards: make a new scorer after
            training.
        precision: ``auto``: what ``COCITE_PRECISION`` names, else bf16 where a probe of this machine finds it faster,
            else fp32.
        threads: CPU cores used; None: as many as torch uses.
        device: where to compute; None: the first GPU if there is one.
        tokens: of a batch; None: :data:`~cocite.nn.cpu_threads.CPU_TOKENS` or :data:`GPU_TOKENS`.

    Attributes:
        precision: the precision in use. bf16 rounds each state to 8 binary digits.
        packed: whether the trunk runs without padding.
        chunk_tokens: tokens of pairs that are worth scoring together; fewer leave a core idle, or pad more.
        speed: the result of the probe; None on a GPU.

    Raises:
        ConfigError: ``threads`` is less than 1.

    Example:
        >>> from cocite.text.pair_tokenizer import PairSettings, PairTokenizer
        >>> from transformers import BertConfig, BertModel
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["graph parsing", "neural parsing"], size=60)
        >>> size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        >>> bert = BertModel(BertConfig(vocab_size=len(tokenizer), **size))
        >>> pairs = PairTokenizer(tokenizer, PairSettings(layout="global", query_tokens=32, candidate_tokens=32))
        >>> scorer = PairScorer(CrossEncoder(bert, pairs), precision="fp32", threads=1)
        >>> scorer.logits(pairs.tokens(["graph parsing"]), pairs.tokens(["neural parsing"])).shape
        (1,)
    """

    def __init__(
        self,
        model: CrossEncoder,
        *,
        precision: Precision | Literal["auto"] = "auto",
        threads: int | None = None,
        device: str | torch.device | None = None,
        tokens: int | None = None,
    ) -> None:
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)
        self.pairs = model.pairs
        on_cpu = self.device.type == "cpu"
        threads = (threads or torch.get_num_threads()) if on_cpu else 1
        if threads < 1:
            raise ConfigError(f"threads must be at least 1, got {threads}")
        self.tokens = tokens or (CPU_TOKENS if on_cpu else GPU_TOKENS)
        self._pool = one_core_threads(threads, "pair-scorer")
        self.speed: Speed | None = None
        if on_cpu:
            config = model.backbone.config
            inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
            # In a thread of the pool, which has one core, as scoring does.
            self.speed = self._pool.submit(measure, config.hidden_size, inner).result()
        self.precision = self._fastest() if precision == "auto" else precision
        self._model, self._frozen = model.eval(), None
        self.packed = packed_bert.supports(model.backbone)
        if self.speed is not None and self.packed:
            packed = max(self.speed.packed, self.speed.bf16) > self.speed.plain
            self._frozen = FrozenBert(model.backbone, self.precision, packed=packed)
        elif not on_cpu or self.precision != "fp32":
            # The head stays in fp32: logits that differ little keep their order.
            self._model = copy.deepcopy(model).to(self.device)
            self._model.backbone.to(DTYPES[self.precision])
        # What is padded is sorted by length over several batches; what is packed needs one for each thread.
        self.chunk_tokens = self.tokens * (threads if self._frozen is not None else 4 * threads)

    def _fastest(self) -> Precision:
        """The precision for all machines where one is named, else the fastest of this one."""
        if named := named_dtype():
            return "bf16" if named == torch.bfloat16 else "fp32"
        return self.speed.best if self.speed else "bf16"

    def padding(self, lengths: NDArray[np.int64]) -> float:
        """Tokens that the trunk computes for pairs of some lengths, scored together, over those that they have."""
        if self.packed or not lengths.sum():
            return 1.0
        parts = token_batches(lengths, self.tokens)
        return float(sum(len(part) * lengths[part].max() for part in parts) / lengths.sum())

    def logits(self, queries: TokenLists, candidates: TokenLists) -> NDArray[np.float32]:
        """(b,) logits of the pairs (query i, candidate i), from the lists of a :class:`PairTokenizer`."""
        lengths = self.pairs.lengths(queries, candidates)
        parts = token_batches(lengths, self.tokens)

        def score(part: NDArray[np.int64]) -> NDArray[np.float32]:
            return self._score(self.pairs.batch(queries.take(part), candidates.take(part)))

        result = np.empty(len(lengths), np.float32)
        for part, logits in zip(parts, self._pool.map(score, parts), strict=True):
            result[part] = logits
        return result

    @torch.inference_mode()
    def _score(self, batch: PairBatch) -> NDArray[np.float32]:
        model = self._model
        if self._frozen is None:
            logits = model(batch.to(self.device))
        elif model.similarity is not None:
            logits = model.compared(self._frozen.all_states(batch), batch)
        else:
            logits = model.logits(self._frozen.first_states(batch))
        result: NDArray[np.float32] = logits.float().cpu().numpy()
        return result
