"""Memory and CPU time of scoring batches of ever other shapes, by how many matrix products are kept compiled.

    .venv/bin/python -m benchmarks.kernel_caches [--batches 400] [--capacities 1024,512,64]

A BERT of two layers and 384 dimensions with random weights scores batches of 2 to 11 pairs of 40 to 240 random tokens,
one thread, each capacity in a process of its own. Hardly any two batches have one number of tokens, as hardly any two
requests have; the scorer adds rows up to few numbers of them. 1,024 is what torch and oneDNN take by themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks._measured_process import resident
from cocite.cli.console import print_table
from cocite.nn.variables import KERNEL_CACHES

WIDTH, VOCABULARY = 384, 3000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=400)
    parser.add_argument("--capacities", default="1024,512,64")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measured(options.batches)))
        return
    rows = []
    for capacity in options.capacities.split(","):
        command = [
            *(sys.executable, "-m", "benchmarks.kernel_caches", "--here", "--batches", str(options.batches))
        ]
        environment = os.environ | dict.fromkeys(KERNEL_CACHES, capacity)
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        rows.append({"capacity": capacity, **json.loads(found.splitlines()[-1])})
    print_table(f"{options.batches} batches", list(rows[0]), [list(row.values()) for row in rows])


def measured(batches: int) -> dict[str, Any]:
    """Anonymous memory before and after, and CPU seconds, of this process."""
    import torch
    from transformers import BertConfig, BertModel

    from cocite.nn.frozen_bert import FrozenBert
    from cocite.text.pair_batch import PairBatch

    torch.set_num_threads(1)
    shape = {
        "hidden_size": WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 12,
        "intermediate_size": 4 * WIDTH,
    }
    frozen = FrozenBert(BertModel(BertConfig(vocab_size=VOCABULARY, **shape)).eval(), "bf16", packed=True)
    rng = np.random.default_rng(0)

    def batch() -> PairBatch:
        lengths = rng.integers(40, 240, rng.integers(2, 12))
        offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
        ids = torch.from_numpy(rng.integers(5, VOCABULARY, lengths.sum()))
        return PairBatch(ids, torch.zeros_like(ids), offsets, int(lengths.max()))

    frozen.first_states(batch())
    before, began = resident()["RssAnon"], time.process_time()
    for _ in range(batches):
        frozen.first_states(batch())
    taken = time.process_time() - began
    return {"MB before": before / 1e6, "MB after": resident()["RssAnon"] / 1e6, "CPU s": taken}


if __name__ == "__main__":
    main()
