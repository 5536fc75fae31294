"""Reproduces a paper once for each of several seeds, and puts means and deviations on one page."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cocite.atomic_files import write_atomic
from cocite.errors import InputError
from cocite.locks import locked_for_writing
from cocite_jobs.reproduction.page import Contents, write_pages
from cocite_jobs.reproduction.papers import plan_of
from cocite_jobs.reproduction.plan import Exhibit, Setup
from cocite_jobs.reproduction.reproduce import IDENTITY, STOPPED, Note, Outcome, choose, reproduce
from cocite_jobs.reproduction.trial_statistics import Trials, trial_folder

MARKER = "trials.json"
"""File of a folder that holds the reproductions of several seeds."""
MOST_TRIALS = 100
LARGEST_SEED = 2**31 - 1
LEAST_SECONDS = 1e-9
"""The budget of a trial that no time is left for: it makes nothing, and tells what it has."""


def parse_seeds(text: str) -> tuple[int, ...]:
    """The seeds of a list such as ``0,1,2``.

    Raises:
        InputError: it is no list of two to a hundred different seeds.

    Example:
        >>> parse_seeds("0, 1,2")
        (0, 1, 2)
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) <= 10 and int(part) <= LARGEST_SEED for part in parts):
        raise InputError(
            f"{text[:100]!r} is no list of seeds",
            where="--seeds",
            hint="as 0,1,2,3,4; each is less than 2^31",
        )
    seeds = tuple(int(part) for part in parts)
    if len(set(seeds)) != len(seeds):
        raise InputError("a seed is there twice", where="--seeds", hint="each trial needs a seed of its own")
    if not 2 <= len(seeds) <= MOST_TRIALS:
        raise InputError(
            f"there are {len(seeds)} seeds",
            where="--seeds",
            hint=f"2 to {MOST_TRIALS}; for one, name it by --seed",
        )
    return seeds


def reproduce_trials(
    paper: str,
    setup: Setup,
    seeds: Sequence[int],
    *,
    only: Sequence[str] | None = None,
    budget: float | None = None,
    note: Note = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Make a paper's tables and figures once for each seed, and a page of their means and deviations.

    The models of a seed are trained in a folder of its own, which is a reproduction by itself. All trials ask with the
    same queries, those of the first seed: deviations are those of the trainings. Trials that were stopped go on.

    Args:
        paper: one of :data:`~cocite_jobs.reproduction.papers.PAPERS`.
        setup: corpus, folder of all trials, size; its seeds are not used.
        seeds: of the trials, different ones.
        only: ids of exhibits, as ``table4``; all by default.
        budget: seconds; the trials that are left divide what is left of it equally.
        note: takes a sentence for each step.
        clock: tells seconds.

    Raises:
        InputError: there is no such paper or exhibit, or the folder is of another reproduction.
        BusyError: another process works in the folder.
    """
    setup = replace(setup, seed=seeds[0], sample_seed=seeds[0])
    each = {
        seed: replace(setup, seed=seed, folder=setup.folder / trial_folder(seed), trials=tuple(seeds))
        for seed in seeds
    }
    chosen = choose(plan_of(paper, setup), only)
    end = None if budget is None else clock() + budget
    made: dict[int, Outcome] = {}
    with locked_for_writing(setup.folder.with_name(f".{setup.folder.name}.lock"), setup.folder):
        _take(setup.folder, paper)
        was_refused = False
        try:
            for place, (seed, trial) in enumerate(each.items()):
                share = None if end is None else max((end - clock()) / (len(seeds) - place), LEAST_SECONDS)
                made[seed] = reproduce(paper, trial, only=only, budget=share, note=_with_seed(note, seed))
        except InputError:
            was_refused = True
            raise
        finally:
            contents = _contents(paper, setup, each, made, chosen)
            # Also where a user stops the command: the page says what is missing. Other trials keep their page.
            if not was_refused:
                write_pages(contents, setup.folder)
    trained = [f"{trial_folder(seed)}: {name}" for seed, outcome in made.items() for name in outcome.trained]
    new = [f"{trial_folder(seed)}: {name}" for seed, outcome in made.items() for name in outcome.made]
    return Outcome(contents, setup.folder / "index.html", trained, new)


def _take(folder: Path, paper: str) -> None:
    """Make the folder one of trials, where it is empty or not there.

    Raises:
        InputError: it is of something else.
    """
    path = folder / MARKER
    if path.exists():
        return
    if folder.exists() and not folder.is_dir():
        raise InputError(
            "is a file, not a folder to write into", where=str(folder), hint="name another: --to"
        )
    if folder.exists() and any(folder.iterdir()):
        holds = (
            "the reproduction of one seed"
            if (folder / IDENTITY).exists()
            else "no reproduction of several seeds"
        )
        raise InputError(f"is not empty and holds {holds}", where=str(folder), hint="name another: --to")
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps({"paper": paper}, indent=1) + "\n")


def _with_seed(note: Note, seed: int) -> Note:
    return lambda sentence: note(f"seed {seed}: {sentence}")


def _contents(
    paper: str, setup: Setup, each: dict[int, Setup], outcomes: dict[int, Outcome], chosen: Sequence[Exhibit]
) -> Contents:
    """The page of all trials."""
    found = {seed: {made.id: made for made in outcome.contents.made} for seed, outcome in outcomes.items()}
    plan = plan_of(paper, setup)
    trials = {}
    for exhibit in plan.exhibits:
        made = {seed: tables[exhibit.id] for seed, tables in found.items() if exhibit.id in tables}
        if made:
            trials[exhibit.id] = Trials(made)
    commands = {
        id_: "\n".join(dict.fromkeys(plan_of(paper, each[seed]).command_of(id_) for seed in of.made))
        for id_, of in trials.items()
    }
    plan = replace(
        plan, exhibits=tuple(replace(e, command=commands.get(e.id, e.command)) for e in plan.exhibits)
    )
    missing = {}
    for exhibit in chosen:
        reasons = {seed: _why_missing(exhibit, outcomes.get(seed)) for seed in each}
        # Seeds that lack it for the same reason are named together.
        for reason in dict.fromkeys(filter(None, reasons.values())):
            lacking = ", ".join(str(seed) for seed, why in reasons.items() if why == reason)
            missing[f"{exhibit.title}, seed {lacking}"] = reason
    impossible = {e.title: e.why_not for e in plan.exhibits if e.why_not} | dict(plan.impossible)
    return Contents(
        plan, setup, [of.combined for of in trials.values()], missing, impossible, tuple(each), trials
    )


def _why_missing(exhibit: Exhibit, outcome: Outcome | None) -> str:
    """Why a trial lacks an exhibit; empty: it has it, or no trial can."""
    if exhibit.why_not:
        return ""
    return STOPPED if outcome is None else outcome.contents.missing.get(exhibit.title, "")
