"""How fast NNSelect trains: lazy against dense optimizers, the paper's triplets against citations in a batch, and
neighbours mined exhaustively against by inverted lists.

    python benchmarks/nnselect_training.py [--corpus STORE] [--papers 20000] [--steps 20]
    python benchmarks/nnselect_training.py --papers 200000 --mining [--mining-steps 100] [--seeds 0]

Prints the CPU seconds of each part of a step, and how many of them its matrix products take alone. With ``--mining``
it trains each seed twice instead, with exhaustive mining and with lists: the same steps in two epochs that each begin
by mining. It prints the CPU seconds of each mining (vectors, search, and the choice of negatives), the recall, and the
dev R@20 of both. ``--json`` names a file for the figures. One thread.
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
from cocite.systems.citeomatic.nnselect.in_batch_task import InBatchNNSelectTask
from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
from cocite.systems.citeomatic.nnselect.task import nnselect_task
from cocite.text.fields import FieldEncoder
from cocite.training.engine.batches import EpochPlan
from cocite.training.engine.loop import train
from cocite.training.engine.optimizers import make_optimizers
from cocite.training.engine.task import ContrastiveTask
from cocite.training.engine.world import World
from cocite.training.neighbour_search import NeighbourSearchSettings
from cocite.training.periods import Periods, PeriodSettings

OBJECTIVES = ("in_batch", "paper")


def measure(task: NNSelectTask, steps: int, *, sparse: bool) -> dict[str, float]:
    """Mean CPU seconds of drawing, loss, gradient and update over some steps."""
    task.model.words.sparse = sparse
    groups = task.parameter_groups() if sparse else ()
    optimizers = make_optimizers(task.model, task.recipe.training.optimizer, groups)
    parts = dict.fromkeys(("draw", "loss", "gradient", "update"), 0.0)
    task.refresh(task.model, World(), 0)  # neighbours are found before the first step
    plan = EpochPlan(task.lengths(0), task.recipe.training, 0, ordered=True)
    clock = time.process_time
    steps = min(steps, plan.steps - 1)
    for step in range(steps + 1):
        if step == 1:  # the first step imports and compiles
            parts = dict.fromkeys(parts, 0.0)
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


def counted(task: InBatchNNSelectTask, step: int, *, turns: int = 10) -> dict[str, float]:
    """What a step computes: its words, and its similarities with the CPU seconds of their products alone.

    The similarities are a product of B queries with C candidates, and their gradients two more of that size.
    """
    examples = EpochPlan(task.lengths(0), task.recipe.training, 0, ordered=True).examples(step)
    queries, candidates = task.citations(0).papers(examples)
    batch = task.collate(examples, 0)
    words = batch.title.joined(batch.abstract).types
    dimension = task.recipe.model.dimension
    left, right = torch.randn(len(examples), dimension), torch.randn(len(candidates), dimension)
    gradient = torch.randn(len(examples), len(candidates))
    start = time.process_time()
    for _ in range(turns):
        _ = left @ right.T, gradient @ right, gradient.T @ left
    return {
        "papers": len(queries) + len(candidates),
        "candidates": len(candidates),
        "words": len(words),
        "distinct_words": len(words.unique()),
        "gflop": 6e-9 * len(examples) * len(candidates) * dimension,
        "products": (time.process_time() - start) / turns,
    }


def mined_training(
    periods: Periods, fields: FieldEncoder, seed: int, steps: int, search: dict[str, Any]
) -> dict[str, Any]:
    """Train twice ``steps`` steps, mining before each half; CPU seconds of each mining, recall, dev R@20."""
    recipe = NNSelectRecipe.parse(
        {
            "objective": {"word_dropout": 0.3},
            "negatives": {"search": search},
            "training": {
                **{"batch": 1024, "seed": seed, "steps": 2 * steps, "refresh_every": steps},
                **{"evaluate_every": 2 * steps, "epochs": 1000, "patience": 0, "log_every": 2 * steps},
            },
        }
    )
    task = nnselect_task(recipe, periods, fields)
    task.negatives.threshold  # noqa: B018 - once a training, and the same in both
    seconds, recalls = [], []
    refresh = task.refresh

    def timed(model: Any, world: World, step: int) -> None:
        start = time.process_time()
        refresh(model, world, step)
        seconds.append(time.process_time() - start)
        recalls.append(task.mining_metrics.get("mined_recall", 1.0))

    task.refresh = timed  # type: ignore[method-assign]
    start = time.process_time()
    result = train(task, recipe.training, world=World())
    spent = time.process_time() - start
    return {"mining_cpu_s": seconds, "recall": recalls, "training_cpu_s": spent, "R@20": result.last["R@20"]}


def compare_mining(periods: Periods, fields: FieldEncoder, options: argparse.Namespace) -> None:
    """Print and write the two ways of mining side by side."""
    ways = {"exact": {"exact_up_to": 1_000_000_000}, "lists": {"exact_up_to": 0, "most": options.most}}
    rows = []
    for seed in options.seeds:
        for way, search in ways.items():
            row = mined_training(periods, fields, seed, options.mining_steps, search)
            rows.append({"seed": seed, "way": way, **row})
            each = "  ".join(
                f"{s:6.1f} s (recall {r:.3f})"
                for s, r in zip(row["mining_cpu_s"], row["recall"], strict=True)
            )
            print(f"seed {seed} {way:6} mining {each}  dev R@20 {row['R@20']:.4f}", flush=True)
        exact, lists = rows[-2:]
        pairs = zip(exact["mining_cpu_s"], lists["mining_cpu_s"], strict=True)
        ratios = "  ".join(f"{one / other:.1f}" for one, other in pairs)
        print(f"seed {seed} exact/lists {ratios}  R@20 {lists['R@20'] - exact['R@20']:+.4f}", flush=True)
    result = {
        "papers": len(periods.history.corpus),
        "most": options.most,
        "steps": 2 * options.mining_steps,
        "trainings": rows,
    }
    write(result, options.json)


def write(result: dict[str, Any], to: Path | None) -> None:
    """Write the figures, where a file is named."""
    if to is not None:
        to.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--papers", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--objectives", nargs="+", choices=OBJECTIVES, default=OBJECTIVES)
    parser.add_argument(
        "--dense", action=argparse.BooleanOptionalAction, default=True, help="dense steps too"
    )
    parser.add_argument("--mining", action="store_true")
    parser.add_argument("--mining-steps", type=int, default=100, help="steps after each mining")
    parser.add_argument("--most", type=float, default=NeighbourSearchSettings().most, help="search.most")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--json", type=Path, help="file to write the results to")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        corpus = (
            Corpus.open(options.corpus)
            if options.corpus
            else build(Synthetic(options.papers), Path(folder) / "store")
        )
        periods = Periods.of(corpus, PeriodSettings(dev_queries=2000 if options.mining else 100))
        start = time.process_time()
        fields = FieldEncoder.build(periods.history, NNSelectRecipe().fields)
        fields.papers(corpus)
        if options.mining:
            compare_mining(periods, fields, options)
            return
        result: dict[str, Any] = {
            "papers": len(corpus),
            "words": len(fields.vocabularies["words"]),
            "text_cpu_s": time.process_time() - start,
            "steps": [],
        }
        batch = 1024
        for objective in options.objectives:
            for lazy in (True, False) if options.dense else (True,):
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
                if isinstance(task, InBatchNNSelectTask):
                    row["counted"] = found = counted(task, 1)
                    print(
                        f"  {found['papers']} papers, {found['words']} words ({found['distinct_words']} distinct); "
                        f"products {found['gflop']:.2f} GFLOP, alone {1000 * found['products']:.1f} ms, "
                        f"{found['products'] / sum(parts.values()):.2f} of the step",
                        flush=True,
                    )
    write(result, options.json)


if __name__ == "__main__":
    main()
