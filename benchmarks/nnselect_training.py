"""How fast NNSelect trains: lazy against dense optimizers, the paper's triplets against citations in a batch.

    python benchmarks/nnselect_training.py [--corpus STORE] [--papers 20000] [--steps 20]

Prints, and writes to benchmarks/results/nnselect_training.json, the CPU seconds of each part of a step. One thread.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.systems.citeomatic.nnselect.base_task import NNSelectTask
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import nnselect_task
from cocite.text.fields import FieldEncoder
from cocite.training.engine.batches import EpochPlan
from cocite.training.engine.optimizers import make_optimizers
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World
from cocite.training.periods import Periods, PeriodSettings

RESULTS = Path(__file__).parent / "results" / "nnselect_training.json"


def measure(task: NNSelectTask, steps: int, *, sparse: bool) -> dict[str, float]:
    """Mean CPU seconds of drawing, loss, gradient and update over some steps."""
    task.model.words.sparse = sparse
    groups = task.parameter_groups() if sparse else ()
    optimizers = make_optimizers(task.model, task.recipe.training.optimizer, groups)
    parts = dict.fromkeys(("draw", "loss", "gradient", "update"), 0.0)
    task.refresh(task.model, World(), 0)  # neighbours are found before the first step
    plan = EpochPlan(task.lengths(0), task.recipe.training, 0, ordered=True)
    clock = time.process_time
    steps = min(steps, plan.steps)
    for step in range(steps):
        start = clock()
        examples = plan.examples(step)
        batch = task.collate(examples, 0)
        parts["draw"] += clock() - start
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        start = clock()
        if isinstance(task, ContrastiveTask):
            loss = task.contrast(task.embed(task.model, batch).vectors, [examples], 0).mean()
        else:
            loss = task.loss(task.model, batch).mean()
        parts["loss"] += clock() - start
        start = clock()
        torch.autograd.backward(loss)
        parts["gradient"] += clock() - start
        start = clock()
        for optimizer in optimizers:
            optimizer.step()
        parts["update"] += clock() - start
    return {name: seconds / max(steps, 1) for name, seconds in parts.items()}


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
                recipe = NNSelectRecipe.parse(
                    {
                        "objective": {"objective": objective, "word_dropout": 0.3},
                        "training": {"batch": batch},
                    }
                )
                task = nnselect_task(recipe, periods, fields)
                parts = measure(task, options.steps, sparse=lazy)
                rate = batch / sum(parts.values())
                row = {"objective": objective, "lazy": lazy, **parts, "examples_per_cpu_s": rate}
                result["steps"].append(row)
                shown = "  ".join(f"{k} {1000 * v:6.1f} ms" for k, v in parts.items())
                print(f"{objective:9} {'lazy ' if lazy else 'dense'}  {shown}  {rate:7.0f} examples/s")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
