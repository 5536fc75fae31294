"""Attention of a BERT-base layer over pairs of real lengths, forward and backward: padded, and without padding.

    python -m benchmarks.gpu.attention [--json benchmarks/results/gpu-attention.json]

With dropout of the weights and without, in bf16, each form against fp32 without dropout. Dropout errs at random: the
last column is the error of the mean of ``--draws`` forward passes, which is what a wrong scale or mask would show. On a
GPU the kernels that ran are named: are they those of flash attention? ``varlen`` is what cocite's models use there, and
jagged nested tensors are torch's public way to dropout without padding. On a CPU ``varlen`` does not run, and jagged
tensors go sequence by sequence. Needs torch, transformers and cocite alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.profiler import ProfilerActivity, profile

from benchmarks.gpu import bench
from benchmarks.gpu.cross_encoder import random_pairs
from cocite.nn.attention import padded_attention
from cocite.nn.packed_bert import PairAttention
from cocite.nn.varlen_attention import Sequences, applies, varlen_attention
from cocite.text.pair_batch import PairBatch

RATE = 0.1
"""Dropout of the attention weights of BERT and SciBERT."""
Attend = Callable[..., Tensor]


def padded(batch: PairBatch, query: Tensor, key: Tensor, value: Tensor, *, dropout: float) -> Tensor:
    """(T, h * e), by tensors padded to the longest pair and a mask."""
    mask = torch.arange(batch.longest, device=query.device) < batch.lengths[:, None]
    filled = [
        states.new_zeros(len(batch), batch.longest, *states.shape[1:])
        .index_put((mask,), states)
        .transpose(1, 2)
        for states in (query, key, value)
    ]
    attended = padded_attention(*filled, mask[:, None, None, :], dropout=dropout)
    return attended.transpose(1, 2)[mask].flatten(1)


def jagged(own: Sequences, query: Tensor, key: Tensor, value: Tensor, *, dropout: float) -> Tensor:
    """(T, h * e), by jagged nested tensors."""
    nested = [
        torch.nested.nested_tensor_from_jagged(
            states.contiguous(), own.offsets, min_seqlen=1, max_seqlen=own.longest
        ).transpose(1, 2)
        for states in (query, key, value)
    ]
    attended = scaled_dot_product_attention(*nested, dropout_p=dropout)
    return attended.transpose(1, 2).values().flatten(1)


def varlen(own: Sequences, query: Tensor, key: Tensor, value: Tensor, *, dropout: float) -> Tensor:
    """(T, h * e), by the attention that cocite's models use on a GPU."""
    return varlen_attention(query, key, value, own, own, dropout=dropout)


def kernels(work: Callable[[], object], device: torch.device) -> str:
    """The attention kernels that a call starts on a GPU."""
    if device.type != "cuda":
        return "none of a GPU"
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        work()
        torch.cuda.synchronize(device)
    names = {
        event.key.partition("<")[0].split("::")[-1].removeprefix("void ") for event in record.key_averages()
    }
    return ", ".join(sorted(name for name in names if "flash" in name or "fmha" in name or "softmax" in name))


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = bench.parser(__doc__)
    parser.add_argument("--pairs", type=int, default=128)
    parser.add_argument("--draws", type=int, default=200)
    options = bench.parse(parser, arguments)
    device = options.device
    torch.manual_seed(0)
    pairs, longest, heads, draws = (
        (8, 64, 2, 50) if options.small else (options.pairs, 512, 12, options.draws)
    )
    lengths = bench.real_lengths(pairs, longest, np.random.default_rng(0))
    batch = random_pairs(lengths, 1000, np.random.default_rng(0)).to(device)
    exact_inputs = [torch.randn(len(batch.ids), heads, 64, device=device) for _ in range(3)]
    states = [states.bfloat16().requires_grad_() for states in exact_inputs]
    exact = padded(batch, *(half.detach().float() for half in states), dropout=0.0)
    own = PairAttention(batch).sequences
    forms: dict[str, Attend] = {
        "padded": partial(padded, batch),
        "jagged": partial(jagged, own),
        "varlen": partial(varlen, own),
    }
    slope = torch.randn_like(exact, dtype=torch.bfloat16)
    # Two products of each query with each key of its pair, and twice that backward.
    flops = 3 * 4 * 64 * heads * float((lengths.astype(float) ** 2).sum())

    def measured(attend: Attend, dropout: float) -> dict[str, Any]:
        def step() -> object:
            return torch.autograd.grad(attend(*states, dropout=dropout), states, slope)

        taken = bench.seconds(step, device, options.repeats)
        with torch.no_grad():
            times = draws if dropout else 1
            mean = sum(attend(*states, dropout=dropout).float() for _ in range(times)) / times
        return {
            "ms": 1000 * taken,
            "TFLOP/s": flops / taken / 1e12,
            "kernels": kernels(step, device),
            "error of the mean / spread": float((mean - exact).square().mean().sqrt() / exact.std()),
        }

    rows = []
    for dropout in (0.0, RATE):
        for form, attend in forms.items():
            if form != "varlen" or applies(states[0]):
                measures = bench.attempted(partial(measured, attend, dropout))
            else:
                measures = {"note": "not run: it needs a GPU and torch 2.10"}
            rows.append({"dropout": dropout, "form": form, **measures})
    facts = {"pairs": pairs, "mean tokens a pair": float(lengths.mean()), "heads": heads, "draws": draws}
    bench.keep("attention over packed pairs", device, rows, options.json, **facts)
    return rows


if __name__ == "__main__":
    sys.exit(bench.exit_code(main()))
