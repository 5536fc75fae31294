"""TPE against random search at equal trials, on sweeps without training, seed by seed.

    python benchmarks/tpe_against_random.py CORPUS [--model MODEL] [--index INDEX] [--json RESULTS.json]

Both draw from the same space, through the sampler that sweeps use, which asks hyperopt; TPE's first trials are random
too. Of each seed the best trial counts. Printed are the medians over seeds, how often TPE's best is the better one, and
the p of the two-sided sign test (ties left out); beneath it what the bests are worth on dev manuscripts that no trial
saw. Scores are kept under --shared, so a second run begins at once.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, get_args

import numpy as np
from scipy.stats import binomtest

from cocite.evaluation.metrics import means
from cocite_tuning.studies.blend import BlendStudy
from cocite_tuning.studies.blend_settings import FusionStudySettings
from cocite_tuning.studies.bm25 import Bm25Study
from cocite_tuning.studies.bm25_settings import Bm25StudySettings
from cocite_tuning.studies.score_study import ScoreStudy
from cocite_tuning.sweep.sampler import Sampler, Search
from cocite_tuning.sweep.spaces import Space

METRIC = "MRR"
SEARCHES: tuple[Search, ...] = get_args(Search)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--shared", type=Path, default=Path("sweeps/scores"))
    parser.add_argument("--only", nargs="+", choices=("bm25", "fusion"), default=["bm25", "fusion"])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    studies: dict[str, ScoreStudy[Any]] = {
        "bm25": Bm25Study(
            Bm25StudySettings(queries=options.queries, index=options.index), options.corpus, options.shared
        ),
        "fusion": BlendStudy(
            FusionStudySettings(queries=options.queries, model=options.model, index=options.index),
            options.corpus,
            options.shared,
        ),
    }
    results: dict[str, Any] = {
        "date": date.today().isoformat(),
        "device": device(),
        "corpus": options.corpus.name,
        "metric": METRIC,
        "trials": options.trials,
        "seeds": options.seeds,
    }
    print(f"{results['date']}, {results['device']}; {options.trials} trials a search, {options.seeds} seeds")
    for name in options.only:
        study = studies[name]
        study.prepare()
        results[name] = compared(name, study, options.trials, options.seeds)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


def compared(name: str, study: ScoreStudy[Any], trials: int, seeds: int) -> dict[str, Any]:
    """Run both searches on one study, and test the difference by signs."""
    space = Space.parse(space_of(study))
    best: dict[str, list[float]] = {search: [] for search in SEARCHES}
    unseen: dict[str, list[float]] = {search: [] for search in SEARCHES}
    seconds = dict.fromkeys(SEARCHES, 0.0)
    for seed in range(seeds):
        for search in SEARCHES:
            began = time.process_time()
            value, params = searched(study, space, search, trials, seed)
            seconds[search] += time.process_time() - began
            best[search].append(value)
            unseen[search].append(held_out(study, params))
    default = means(study.hits({}), [METRIC])[METRIC]
    print(f"\n{name}: {len(space.keys())} parameters, {study.tuning_count} queries of trials, ", end="")
    print(
        f"{len(study.cited) - study.tuning_count} held out; default {default:.4f}, {held_out(study, {}):.4f} held out"
    )
    print("| search | median best | least | greatest | median held out | CPU s a search |")
    print("| --- | --- | --- | --- | --- | --- |")
    for search in SEARCHES:
        values = best[search]
        row = (np.median(values), min(values), max(values), np.median(unseen[search]))
        print(f"| {search} | " + " | ".join(f"{v:.4f}" for v in row) + f" | {seconds[search] / seeds:.1f} |")
    told = {}
    for label, values in (("trials", best), ("held out", unseen)):
        told[label] = signs(values["tpe"], values["random"])
        wins, losses, p = (told[label][key] for key in ("wins", "losses", "p"))
        print(f"{label}: TPE better {wins}, worse {losses} of {seeds}; sign test p = {p:.2g}")
    return {
        "parameters": space.keys(),
        "queries": study.tuning_count,
        "default": default,
        "default held out": held_out(study, {}),
        "best": best,
        "held out": unseen,
        "sign test": told,
        "cpu seconds": {search: value / seeds for search, value in seconds.items()},
    }


def searched(
    study: ScoreStudy[Any], space: Space, search: Search, trials: int, seed: int
) -> tuple[float, dict[str, Any]]:
    """The best value of a search, and its parameters."""
    sampler = Sampler(space, search, seed=seed)
    best: tuple[float, dict[str, Any]] = (-np.inf, {})
    for number in range(trials):
        params = sampler.draw(number)
        value = means(study.hits(params), [METRIC])[METRIC]
        sampler.observe(number, params, value)
        best = max(best, (value, params), key=lambda found: found[0])
    return best


def held_out(study: ScoreStudy[Any], params: Mapping[str, Any]) -> float:
    """The metric on queries that no trial saw."""
    return means(study.hits(params, held_out=True), [METRIC])[METRIC]


def signs(first: list[float], second: list[float]) -> dict[str, float]:
    """The number of times that the first is greater and smaller, and p of the two-sided sign test."""
    difference = np.array(first) - np.array(second)
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    return {"wins": wins, "losses": losses, "p": p}


def space_of(study: ScoreStudy[Any]) -> dict[str, Any]:
    """The searched space: of BM25 all four parameters, of the blend each weight up to its grid's greatest, 1.6."""
    if study.settings.kind == "fusion":
        return {name: {"uniform": [0, 1.6]} for name in study.parameter_types}
    forms = [str(form) for form in study.forms]  # type: ignore[attr-defined]
    return {
        "k1": {"uniform": [0, 5]},
        "b": {"uniform": [0, 1]},
        "form": {"choice": forms},
        "field": {"choice": list(study.settings.fields)},
    }


def device() -> str:
    """The processor, and how many cores there are."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


if __name__ == "__main__":
    main()
