"""Reproduces a paper on a corpus: trains what is missing, makes each table and figure, and writes the page."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cocite.atomic_files import write_atomic
from cocite.errors import CociteError, InputError, IntegrityError, nearest
from cocite.locks import locked_for_writing
from cocite_jobs.reproduction.budget import Budget
from cocite_jobs.reproduction.page import Contents, write_pages
from cocite_jobs.reproduction.papers import plan_of
from cocite_jobs.reproduction.plan import Exhibit, Plan, Setup
from cocite_jobs.reproduction.record import MadeExhibit, Records
from cocite_jobs.reproduction.training_step import model_facts, run_training
from cocite_jobs.storage.location import Location

IDENTITY = "reproduction.json"
"""File of a reproduction's folder that says what it is of, and how long each training took."""
SPENT = "The budget was spent before it; run the same command again."
STOPPED = "The command was stopped before it; run the same command again."
Note = Callable[[str], object]


@dataclass(frozen=True)
class Outcome:
    """What a reproduction has made.

    Attributes:
        contents: of the page.
        page: its path.
        trained: names of the trainings that this call made.
        made: ids of the exhibits that this call made.

    Example:
        A second call makes nothing anew::

            outcome = reproduce("citeomatic", Setup(corpus, Path("citeomatic-small"), "small"))
            outcome.made, outcome.contents.missing

        >>> list(Outcome.__dataclass_fields__)
        ['contents', 'page', 'trained', 'made']
    """

    contents: Contents
    page: Path
    trained: list[str]
    made: list[str]


def reproduce(
    paper: str,
    setup: Setup,
    *,
    only: Sequence[str] | None = None,
    budget: float | None = None,
    note: Note = lambda _: None,
) -> Outcome:
    """Make a paper's tables and figures for a corpus.

    What the folder holds already is not made again. A training that was stopped goes on from its last checkpoint. The
    page is written at the end, also where the command is stopped: it says what is missing.

    Args:
        paper: one of :data:`~cocite_jobs.reproduction.papers.PAPERS`.
        setup: corpus, folder, size, seed.
        only: ids of exhibits, as ``table4``; all by default.
        budget: seconds; the trainings divide it, and what does not fit is left for the next call.
        note: takes a sentence for each step.

    Raises:
        InputError: there is no such paper or exhibit, or the folder is of another reproduction.
        BusyError: another process works in the folder.
    """
    plan = plan_of(paper, setup)
    chosen = choose(plan, only)
    if setup.folder.exists() and not setup.folder.is_dir():
        raise InputError(
            "is a file, not a folder to write into", where=str(setup.folder), hint="name another: --to"
        )
    with locked_for_writing(setup.folder.with_name(f".{setup.folder.name}.lock"), setup.folder):
        run = _Run(plan, setup, chosen, Budget(budget), note)
        with run.writing_page():
            run.work()
    return Outcome(run.contents(is_whole=True), setup.folder / "index.html", run.trained, run.new)


def choose(plan: Plan, only: Sequence[str] | None) -> tuple[Exhibit, ...]:
    """The exhibits of some ids; all where none are named.

    Raises:
        InputError: the plan has none of an id.
    """
    known = [exhibit.id for exhibit in plan.exhibits]
    for name in only or ():
        if name not in known:
            raise InputError(
                f"cocite makes no {name!r} of {plan.paper}",
                where="--only",
                hint=f"{nearest(name, known)}; it makes {', '.join(known)}",
            )
    return tuple(exhibit for exhibit in plan.exhibits if only is None or exhibit.id in only)


class _Run:
    """One call, in a folder that is its own."""

    def __init__(
        self, plan: Plan, setup: Setup, chosen: tuple[Exhibit, ...], budget: Budget, note: Note
    ) -> None:
        self.plan, self.setup, self.chosen, self.budget, self.note = plan, setup, chosen, budget, note
        self.identity: dict[str, Any] = {
            "paper": plan.paper,
            "size": setup.size,
            "seed": setup.seed,
            "corpus": setup.corpus.version,
            "encoder": setup.encoder,
        }
        if setup.query_seed != setup.seed:
            self.identity["query seed"] = setup.query_seed
        if setup.settings:
            self.identity["settings"] = [*setup.settings]
        self.seconds = self._begin()
        self.records = Records(Location.of(setup.folder / "tables"))
        self.failed: dict[str, str] = {}
        self.made: dict[str, MadeExhibit] = {}
        self.trained: list[str] = []
        self.new: list[str] = []

    def _begin(self) -> dict[str, float]:
        """Take the folder; returns the seconds of the trainings that were made in it."""
        path = self.setup.folder / IDENTITY
        if not path.exists():
            if self.setup.folder.exists() and any(self.setup.folder.iterdir()):
                raise InputError(
                    "is not empty and holds no reproduction",
                    where=str(self.setup.folder),
                    hint="name another: --to",
                )
            self.setup.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(path, json.dumps({**self.identity, "seconds": {}}, indent=1) + "\n")
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            seconds = {str(name): float(value) for name, value in found["seconds"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise IntegrityError(
                "is not the record of a reproduction", where=str(path), hint="name another folder: --to"
            ) from error
        default = {"query seed": self.setup.seed, "settings": []}
        for key in {**self.identity, **default}:
            there, wanted = (each.get(key, default.get(key)) for each in (found, self.identity))
            if there != wanted:
                raise InputError(
                    f"holds a reproduction whose {key} is {there!r}, not {wanted!r}",
                    where=str(self.setup.folder),
                    hint="name another: --to",
                )
        return seconds

    def work(self) -> None:
        """Make the trainings that the chosen exhibits need and that are missing, and each exhibit as soon as it can."""
        self._make()
        wanted = self.plan.needed(tuple(exhibit for exhibit in self.chosen if not exhibit.why_not))
        left = [training for training in wanted if not training.is_done(self.setup.folder)]
        while left:
            training = left[0]
            if self.budget.is_spent:
                self.failed |= {each.name: SPENT for each in left}
                return
            minutes = self.budget.minutes(left)
            self.note(f"training {training.name}" + (f", at most {minutes:.1f} min" if minutes else ""))
            try:
                seconds = run_training(training, self.setup, minutes)
            except CociteError as error:
                # What does not need it is made all the same.
                self.failed[training.name] = f"Its training {training.name} failed: {error}"
                self.note(self.failed[training.name])
            else:
                self.seconds[training.name] = self.seconds.get(training.name, 0.0) + seconds
                self._write_seconds()
                self.trained.append(training.name)
                self._make()
            left = left[1:]

    def _write_seconds(self) -> None:
        text = json.dumps({**self.identity, "seconds": self.seconds}, indent=1) + "\n"
        write_atomic(self.setup.folder / IDENTITY, text)

    def _make(self) -> None:
        """Make the chosen exhibits that are missing and whose models are there, and read the others."""
        for exhibit in self.plan.exhibits:
            is_known = exhibit.id in self.made or exhibit.id in self.failed
            if is_known or exhibit.why_not or not self._is_trained(exhibit):
                continue
            facts = self._models(exhibit)
            key = self._key(exhibit, facts)
            made = self.records.find(key, exhibit.id)
            is_at_hand = exhibit.measured_with in self.new
            if made is None and exhibit in self.chosen and (is_at_hand or not self.budget.is_spent):
                self.note(f"making {exhibit.title}")
                made = self._measure(exhibit, facts)
                if made is not None:
                    self.records.add(key, made)
                    self.new.append(exhibit.id)
            if made is not None:
                self.made[exhibit.id] = made

    def _is_trained(self, exhibit: Exhibit) -> bool:
        return all(training.is_done(self.setup.folder) for training in self.plan.needed((exhibit,)))

    def _models(self, exhibit: Exhibit) -> list[dict[str, Any]]:
        return [
            {**facts, "seconds": self.seconds.get(training.name)}
            for training in self.plan.needed((exhibit,))
            for facts in model_facts(self.setup.folder, training.artifacts)
        ]

    def _key(self, exhibit: Exhibit, models: Sequence[dict[str, Any]]) -> str:
        """What determines an exhibit's numbers: it is made again where that changes."""
        folder, corpus = str(self.setup.folder), str(self.setup.corpus.path)
        # Neither may make a table anew that lies elsewhere now.
        command = (exhibit.determined_by or exhibit.command).replace(folder, "").replace(corpus, "")
        parts = [self.identity, command, [[model["model"], model["version"]] for model in models]]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def _measure(self, exhibit: Exhibit, models: Sequence[dict[str, Any]]) -> MadeExhibit | None:
        began = time.monotonic()
        try:
            table = exhibit.make(self.setup)
        except CociteError as error:
            self.failed[exhibit.id] = f"It could not be made: {error}"
            self.note(f"{exhibit.title}: {error}")
            return None
        return MadeExhibit(exhibit.id, replace(table, title=exhibit.title), time.monotonic() - began, models)

    @contextmanager
    def writing_page(self) -> Iterator[None]:
        """Write the page when the block ends, in whatever way."""
        is_whole = False
        try:
            yield
            is_whole = True
        finally:
            write_pages(self.contents(is_whole), self.setup.folder)

    def contents(self, is_whole: bool) -> Contents:
        """What the page says; ``is_whole``: the call came to its end."""
        missing = {
            exhibit.title: self._why_missing(exhibit, is_whole)
            for exhibit in self.chosen
            if exhibit.id not in self.made and not exhibit.why_not
        }
        impossible = {exhibit.title: exhibit.why_not for exhibit in self.plan.exhibits if exhibit.why_not}
        made = [self.made[exhibit.id] for exhibit in self.plan.exhibits if exhibit.id in self.made]
        return Contents(self.plan, self.setup, made, missing, {**impossible, **self.plan.impossible})

    def _why_missing(self, exhibit: Exhibit, is_whole: bool) -> str:
        causes = [self.failed.get(name) for name in (exhibit.id, *exhibit.needs)]
        return next(filter(None, causes), SPENT if is_whole else STOPPED)
