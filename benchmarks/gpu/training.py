"""Training a BERT-base cross-encoder through cocite's loop: loss against fp32, tokens/s, MFU, peak memory.

    python -m benchmarks.gpu.training [--json benchmarks/results/gpu-training.json]

Weights and tokens are random, and which candidate is cited follows from its first token, so that there is something to
learn. The same steps are taken from the same weights in fp32 and in bf16, compiled, and by DeepSpeed's ZeRO 2 and 3,
without dropout, whose draws would hide what rounding does. On one device ZeRO has nobody to share with: its rows say
what it costs. The rows with BERT's attention dropout, as the SciBERT recipes, have another loss by the draws, and a
speed that says what dropout costs. Needs torch, transformers and cocite alone; what needs more says so in its row.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from benchmarks.gpu import bench
from benchmarks.gpu.cross_encoder import flops, random_pairs
from cocite.nn import packed_bert
from cocite.text.pair_batch import PairBatch
from cocite.training.engine.loop import train
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World

BF16 = {"precision": "bf16"}
CHECKPOINTING = BF16 | {"gradient_checkpointing": True}
ZERO = BF16 | {"backend": "deepspeed"}
TRAININGS: dict[str, tuple[dict[str, Any], float]] = {
    "fp32": ({}, 0.0),
    "bf16": (BF16, 0.0),
    "bf16, gradient checkpointing": (CHECKPOINTING, 0.0),
    "bf16, attention dropout": (BF16, 0.1),
    "bf16, gradient checkpointing, attention dropout": (CHECKPOINTING, 0.1),
    "bf16, compiled": (BF16 | {"compile": True}, 0.0),
    "bf16, compiled, attention dropout": (BF16 | {"compile": True}, 0.1),
    # Last, as DeepSpeed's process group of one stays.
    "bf16, ZeRO 2": (ZERO | {"zero": 2}, 0.0),
    "bf16, ZeRO 3": (ZERO | {"zero": 3}, 0.0),
}
"""Settings and attention dropout of each row; the first is what the losses of the others are compared with."""


class Scorer(nn.Module):
    """BERT and one linear layer on the first token."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.backbone = BertModel(config, add_pooling_layer=False)
        self.head = nn.Linear(config.hidden_size, 1)

    def forward(self, batch: PairBatch) -> Tensor:
        """(b,) logits."""
        scores: Tensor = self.head(packed_bert.first_states(self.backbone, batch))
        return scores.squeeze(1)

    def gradient_checkpointing_enable(self) -> None:
        """Turn on gradient checkpointing in the backbone."""
        self.backbone.gradient_checkpointing_enable()


class RandomPairs:
    """A :class:`~cocite.training.engine.task.TrainTask` over random pairs; an example is a pair."""

    metric = "fit"

    def __init__(self, config: Any, lengths: NDArray[np.int64]) -> None:
        torch.manual_seed(0)
        self.config, self.all = config, lengths
        self.model = Scorer(config)
        self.losses: list[float] = []

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """(n,) tokens of each pair."""
        return self.all

    def collate(self, examples: NDArray[np.int64], epoch: int) -> PairBatch:
        """Tokens are a function of the examples."""
        rng = np.random.default_rng([epoch, *examples[:4].tolist()])
        return random_pairs(self.all[examples], self.config.vocab_size, rng)

    def loss(self, model: nn.Module, batch: PairBatch) -> Tensor:
        """Cross-entropy; cited is what begins with an even token."""
        cited = (batch.ids[batch.offsets[:-1]] % 2 == 0).float()
        return nn.functional.binary_cross_entropy_with_logits(model(batch).float(), cited, reduction="none")

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """Nothing is held out: the losses of the steps are what is compared."""
        return {"fit": 0.0}

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Nothing is mined."""

    def state(self) -> Mapping[str, Tensor]:
        """Nothing is kept."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Nothing is taken back."""

    def flops(self, batch: PairBatch) -> float:
        """Forward, and twice that backward."""
        return 3 * flops(self.config, batch.lengths.cpu().numpy())

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Random weights are not kept."""


def run(config: Any, lengths: NDArray[np.int64], settings: dict[str, Any], world: World) -> dict[str, Any]:
    """One training; the first logged window warms up and is left out of the speed."""
    task = RandomPairs(config, lengths)
    logged: list[dict[str, float]] = []
    train(
        task,
        TrainingSettings.parse(settings),
        world=world,
        log=lambda metrics, _: logged.append(metrics) if "loss" in metrics else None,
    )
    steady = logged[1:] or logged
    return {
        "losses": [metrics["loss"] for metrics in logged],
        "tokens/s": float(np.median([metrics["tokens_per_second"] for metrics in steady])),
        "MFU": float(np.median([metrics["mfu"] for metrics in steady])),
    }


def no_compiler(device: torch.device) -> str | None:
    """What ``torch.compile`` would miss on this machine; None: nothing."""
    if device.type == "cuda" and find_spec("triton") is None:
        return "triton is not installed"
    names = [os.environ.get("CXX", "g++")]
    if device.type == "cuda":  # Triton compiles what starts its kernels
        names = [os.environ["CC"]] if "CC" in os.environ else ["gcc", "clang"]
    return None if any(map(shutil.which, names)) else f"there is no compiler {' or '.join(names)}"


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = bench.parser(__doc__)
    parser.add_argument("--batch", type=int, default=64, help="pairs of a step")
    parser.add_argument("--tokens", type=int, default=65_536, help="tokens of one forward pass")
    parser.add_argument("--steps", type=int, default=60)
    options = bench.parse(parser, arguments)
    device = options.device
    if device.type == "cpu":
        os.environ.setdefault(
            "DS_ACCELERATOR", "cpu"
        )  # else DeepSpeed takes the GPU of a machine that has one
    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    batch, steps, longest = (8, 6, 64) if options.small else (options.batch, options.steps, 512)
    lengths = bench.real_lengths(batch * steps, longest, np.random.default_rng(0))
    base = {
        "batch": batch,
        "tokens": options.tokens,
        "steps": steps,
        "log_every": max(1, steps // 6),
        "optimizer": {"learning_rate": 2e-5},
    }

    def measured(settings: dict[str, Any], dropout: float) -> dict[str, Any]:
        config = BertConfig(
            hidden_dropout_prob=0.0, attention_probs_dropout_prob=dropout, **(small if options.small else {})
        )
        if settings.get("compile") and (missing := no_compiler(device)) is not None:
            return {"note": f"not run: {missing}"}
        return bench.with_peak(partial(run, config, lengths, base | settings, World(device=device)), device)

    rows: list[dict[str, Any]] = []
    exact: list[float] | None = None
    for name, (settings, dropout) in TRAININGS.items():
        row = {"training": name, **bench.attempted(partial(measured, settings, dropout))}
        losses = row.pop("losses", None)
        exact = losses if not rows else exact
        if losses is not None:
            row["last loss"] = losses[-1]
            if exact is not None:
                row["largest loss difference"] = float(np.abs(np.subtract(losses, exact)).max())
        rows.append(row)
    facts = {"pairs a step": batch, "steps": steps, "mean tokens a pair": float(lengths.mean())}
    facts["peak MB"] = "torch's tensors" if device.type == "cuda" else "the process, without mapped files"
    bench.keep("training a cross-encoder", device, rows, options.json, **facts)
    return rows


if __name__ == "__main__":
    sys.exit(bench.exit_code(main()))
