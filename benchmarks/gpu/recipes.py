"""Train recipes on a corpus for some minutes each, on one GPU: speed, memory, the dev metric, hours of all epochs.

    PYTHONPATH=platform:jobs python -m benchmarks.gpu.recipes --corpus corpus --to model --minutes 2 \\
        --recipe 'mp-bert4cr-pretraining training.backend=plain' --recipe 'hatten-paper words.source=random'

Each ``--recipe`` is a shipped recipe with overrides, and trains as ``cocite train`` does in this process, into one
model folder, in the order given: so one can begin with what another has trained. The learning rate follows the whole
training's schedule, which these minutes do not reach the end of: the dev metric shows that the model learns, and not
what it becomes. Needs what ``cocite train`` needs, without Ray, MLflow and DeepSpeed.
"""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu import bench
from cocite.corpus.starter import starter_corpus
from cocite.corpus.store import Corpus
from cocite_jobs.training.progress import ProgressFunctions
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.registry import KINDS
from cocite_jobs.training.train import train


class Log:
    """What a training logs: the speed of each window of steps, and the dev metrics.

    Args:
        metric: the name of the dev metric.
    """

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.windows: list[dict[str, float]] = []
        self.dev: list[float] = []
        self.steps = self.epochs = 0.0

    def __call__(self, metrics: dict[str, float], step: int) -> None:
        if "tokens_per_second" in metrics:
            self.windows.append(metrics)
            self.steps, self.epochs = step, metrics["epoch"]
        if self.metric in metrics:
            self.dev.append(metrics[self.metric])

    def summary(self) -> dict[str, float]:
        """Medians of the windows without the first, which warms up, and the dev metric before and after."""
        if not self.windows:
            raise RuntimeError("too few steps to log a loss: give more --minutes, or training.log_every=1")
        steady = self.windows[1:] or self.windows
        speeds = ("tokens_per_second", "mfu")
        return {
            "steps": self.steps,
            "epochs": self.epochs,
            **{name: float(np.median([window.get(name, np.nan) for window in steady])) for name in speeds},
            "first loss": self.windows[0]["loss"],
            "last loss": self.windows[-1]["loss"],
            f"{self.metric} before": self.dev[0],
            f"{self.metric} after": self.dev[-1],
        }


def measured(recipe: Any, corpus: Corpus, folder: Path) -> dict[str, float]:
    """One training from the beginning."""
    log = Log(KINDS[recipe.kind].metrics[0])
    artifact = train(recipe, corpus, folder, ProgressFunctions(log), fresh=True)
    found = log.summary()
    # Steps alone: how often the dev metric is measured and checkpoints are written is a setting of its own.
    tokens = artifact.details["tokens"] / found["epochs"] * recipe.training.epochs
    return {**found, "hours of all epochs": tokens / found["tokens_per_second"] / 3600}


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = bench.parser(__doc__)
    parser.add_argument("--corpus", type=Path, help="a store; the starter corpus by default")
    parser.add_argument("--to", type=Path, required=True, help="the model folder")
    parser.add_argument("--recipe", action="append", required=True, help="name and overrides")
    parser.add_argument("--minutes", type=float, default=2.0, help="of each training")
    options = bench.parse(parser, arguments)
    corpus = starter_corpus() if options.corpus is None else Corpus.open(options.corpus, verified=True)
    gpus = int(options.device.type == "cuda")
    fixed = [f"training.minutes={options.minutes}", "workers.count=0", f"workers.gpus={gpus}"]
    # All are read before the first one trains, which may take long.
    recipes = [load_recipe(name, [*given, *fixed]) for name, *given in map(shlex.split, options.recipe)]
    rows = []
    for text, recipe in zip(options.recipe, recipes, strict=True):
        work = partial(measured, recipe, corpus, options.to)
        rows.append({"recipe": text, **bench.attempted(partial(bench.with_peak, work, options.device))})
        print(rows[-1], flush=True)  # one that never ends must not cost the others
    bench.keep("training recipes", options.device, rows, options.json, corpus=corpus.version)
    return rows


if __name__ == "__main__":
    sys.exit(bench.exit_code(main()))
