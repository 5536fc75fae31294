"""How fast NNSelect trains: lazy against dense optimizers, the paper's triplets against citations in a batch.

    python benchmarks/nnselect_training.py [--corpus STORE] [--papers 20000] [--steps 20]

Prints, and writes to benchmarks/results/nnselect_training.json, the CPU seconds of each part of a step. One thread.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.systems.citeomatic.nnselect_task import NNSelectRecipe, NNSelectTask
from cocite.text.fields import FieldEncoder
from cocite.training.loop import optimizers_for
from cocite.training.periods import Periods, PeriodSettings

RESULTS = Path(__file__).parent / "results" / "nnselect_training.json"


def measure(task: NNSelectTask, steps: int, *, lazy: bool) -> dict[str, float]:
    """Mean CPU seconds of drawing, loss, gradient and update over some steps."""
    task.model.words.lazy = lazy
    tables = [task.model.words.magnitude, task.model.words.direction] if lazy else []
    optimizers = optimizers_for(task.model, 0.01, sparse=tables)
    parts = dict.fromkeys(("draw", "loss", "gradient", "update"), 0.0)
    batches = iter(task.batches(1))
    next(batches)  # neighbours are found before the first
    clock = time.process_time
    count = 0
    start = clock()
    for batch in islice(batches, steps):
        parts["draw"] += clock() - start
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        start = clock()
        loss = task.loss(batch)
        parts["loss"] += clock() - start
        start = clock()
        torch.autograd.backward(loss)
        parts["gradient"] += clock() - start
        start = clock()
        for optimizer in optimizers:
            optimizer.step()
        parts["update"] += clock() - start
        count += 1
        start = clock()
    return {name: seconds / max(count, 1) for name, seconds in parts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--papers", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        corpus = (
            Corpus.open(options.corpus)
            if options.corpus
            else build(Synthetic(options.papers), Path(folder) / "store")
        )
        periods = Periods.of(corpus, PeriodSettings(dev_queries=100))
        start = time.process_time()
        fields = FieldEncoder.build(periods.history, NNSelectRecipe().fields)
        fields.papers(corpus)
        result: dict[str, Any] = {
            "papers": len(corpus),
            "words": len(fields.vocabularies["words"]),
            "text_cpu_s": time.process_time() - start,
            "steps": [],
        }
        for objective, batch in (("in_batch", 1024), ("paper", 1024)):
            for lazy in (True, False):
                settings = {"objective": objective, "batch": batch, "word_dropout": 0.3}
                task = NNSelectTask(NNSelectRecipe.parse({"objective": settings}), periods, fields)
                parts = measure(task, options.steps, lazy=lazy)
                rate = batch / sum(parts.values())
                row = {"objective": objective, "lazy": lazy, **parts, "examples_per_cpu_s": rate}
                result["steps"].append(row)
                shown = "  ".join(f"{k} {1000 * v:6.1f} ms" for k, v in parts.items())
                print(f"{objective:9} {'lazy ' if lazy else 'dense'}  {shown}  {rate:7.0f} examples/s")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
