"""Scoring pairs with a BERT-base cross-encoder: correct against fp32, pairs/s, share of the limit.

    python -m benchmarks.gpu.cross_encoder [--json benchmarks/results/gpu-cross-encoder.json]

Weights are random: time and rounding do not depend on what they say. Needs torch, transformers and cocite alone.
Rows: every pair of 512 tokens (padding has nothing to give away), then real lengths; packed by cocite in bf16, and the
backbone's own forward over pairs padded to the longest in bf16. The FLOPs are those of the packed form, which reads the
last layer at one token: so a row's share of the limit is of what has to be computed, not of what was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import BertConfig, BertModel

from benchmarks.gpu import bench
from cocite.nn import packed_bert
from cocite.nn.layer_flops import layer_flops
from cocite.text.pair_batch import PairBatch

AIM_MS = 40.0
"""What 200 pairs of 512 tokens should take on an H200."""


def random_pairs(lengths: NDArray[np.int64], vocabulary: int, rng: np.random.Generator) -> PairBatch:
    """Pairs of random tokens, the longest first, as a scorer sorts them; the second half is the candidate."""
    lengths = np.sort(lengths)[::-1].copy()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return PairBatch(
        torch.from_numpy(rng.integers(5, vocabulary, offsets[-1])),
        torch.from_numpy((within >= np.repeat(lengths // 2, lengths)).astype(np.int64)),
        torch.from_numpy(offsets),
        int(lengths[0]),
    )


def flops(config: Any, lengths: NDArray[np.int64]) -> float:
    """FLOPs of the packed forward, with the last layer's output at one token of each pair."""
    size = {"hidden": config.hidden_size, "inner": config.intermediate_size}
    tokens, pairs = float(lengths.sum()), float((lengths.astype(float) ** 2).sum())
    full = layer_flops(tokens, pairs, **size)
    last = layer_flops(len(lengths), tokens, **size) + (tokens - len(lengths)) * 4 * config.hidden_size**2
    return (config.num_hidden_layers - 1) * full + last


def padded(backbone: Any, batch: PairBatch) -> Tensor:
    """(b, d) first states by the backbone's own forward."""
    ids, types, mask = batch.padded(0)
    states: Tensor = backbone(
        input_ids=ids, token_type_ids=types, attention_mask=mask.long()
    ).last_hidden_state
    return states[:, 0]


def agreement(found: Tensor, exact: Tensor, head: Tensor) -> dict[str, float]:
    """Measure how far scores are from those of fp32, and how many of its ten best are among the ten best."""
    scores, right = found.float() @ head, exact @ head
    best = set(scores.topk(min(10, len(scores))).indices.tolist())
    same = len(best & set(right.topk(min(10, len(right))).indices.tolist())) / len(best)
    spread = float(right.std())
    return {"largest error / spread": float((scores - right).abs().max()) / spread, "same top 10": same}


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = bench.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    options = bench.parse(parser, arguments)
    device = options.device
    torch.manual_seed(0)
    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    config = BertConfig(**(small if options.small else {}))
    backbone = BertModel(config, add_pooling_layer=False).to(device).eval()
    half = BertModel(config, add_pooling_layer=False).to(device, torch.bfloat16).eval()
    half.load_state_dict({name: value.bfloat16() for name, value in backbone.state_dict().items()})
    head = torch.randn(config.hidden_size, device=device) / config.hidden_size**0.5
    rng = np.random.default_rng(0)
    pairs, longest = (8, 64) if options.small else (options.pairs, 512)
    limit = bench.limits(device)
    rows = []
    for name, lengths in {
        f"{longest} tokens each": np.full(pairs, longest),
        "real lengths": bench.real_lengths(pairs, longest, rng),
    }.items():
        batch = random_pairs(lengths, config.vocab_size, rng).to(device)
        with torch.inference_mode():
            exact = packed_bert.first_states(backbone, batch)
            forms = {
                "packed fp32": lambda b=batch: packed_bert.first_states(backbone, b),
                "packed bf16": lambda b=batch: packed_bert.first_states(half, b),
                "padded bf16": lambda b=batch: padded(half, b),
            }
            torch.testing.assert_close(exact, padded(backbone, batch), atol=2e-4, rtol=1e-3)
            for form, work in forms.items():
                taken = bench.seconds(work, device, options.repeats)
                rows.append(
                    {
                        "lengths": name,
                        "form": form,
                        "ms": 1000 * taken,
                        "pairs/s": pairs / taken,
                        "tokens/s": float(lengths.sum()) / taken,
                        **bench.shares(flops(config, lengths), taken, limit),
                        **agreement(work(), exact, head),
                    }
                )
    facts = {"pairs": pairs, "parameters": sum(p.numel() for p in backbone.parameters())}
    facts |= {f"{key} limit, TFLOP/s": value / 1e12 for key, value in limit.items()}
    if not options.small:
        facts["aim"] = f"packed bf16, {longest} tokens each: {AIM_MS:g} ms on an H200"
    bench.keep("scoring with a cross-encoder", device, rows, options.json, **facts)
    return rows


if __name__ == "__main__":
    main()
