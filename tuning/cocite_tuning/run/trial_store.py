"""What a sweep keeps on disk: which sweep it is, the trials that ended, and those that are under way.

A sweep that was killed goes on from these files and nothing else. Each is replaced whole; a trial that ended is in
``trials.json`` before it is struck from ``under_way.json``, so none is lost and none is counted twice.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cocite.atomic_files import write_atomic
from cocite.config import flat
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.locks import locked
from cocite.manifests import read_json
from cocite_tuning.run.result import FILE as OUTCOME
from cocite_tuning.run.trials import State, Trial, Trials
from cocite_tuning.sweep.sweep import Sweep

SWEEP, TRIALS, UNDER_WAY = "sweep.json", "trials.json", "under_way.json"
FILES, FOLDERS = (TRIALS, UNDER_WAY, OUTCOME), ("trials", "shared", "best")
"""What lies beside ``sweep.json`` in the folder of a sweep."""
EVERY_S = 1.0
"""Seconds between two times that light trials are written: what a death takes along is done again."""

Phase = Literal["", "short", "full"]
Curve = list[tuple[int, dict[str, float]]]


@dataclass
class Begun:
    """A trial that has begun.

    Attributes:
        number, params, phase, run_id, curve: as in :class:`~cocite_tuning.run.trials.Trial`.
        seconds: it took before this process took it up.
        since: when that was, by the monotonic clock; None: it has not yet.
    """

    number: int
    params: dict[str, Any]
    phase: Phase = ""
    run_id: str = ""
    curve: Curve = field(default_factory=list)
    seconds: float = 0.0
    since: float | None = None

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return self.seconds + (time.monotonic() - self.since if self.since is not None else 0.0)


class Ledger:
    """The trials of one sweep, on disk.

    Args:
        folder: of the sweep.
        sweep: which one.
        patient: whether files are written at most every ``EVERY_S`` seconds.

    Attributes:
        done: the trials that ended, by number.
        under_way: those that have begun, by number.
        run_id: MLflow's id of the sweep's own run.
    """

    def __init__(self, folder: Path, sweep: Sweep, *, patient: bool = False) -> None:
        self.folder, self.sweep, self.patient = folder, sweep, patient
        self.done: dict[int, Trial] = {}
        self.under_way: dict[int, Begun] = {}
        self.run_id = ""
        self._identity: dict[str, Any] = {}
        self._written = 0.0

    @classmethod
    @contextmanager
    def opened(
        cls,
        folder: Path,
        sweep: Sweep,
        corpus: str,
        *,
        start: Literal["new", "resume", "fresh"],
        patient: bool,
    ) -> Iterator[Ledger]:
        """Take a sweep's folder into use while the block runs; no other process can.

        Args:
            folder: of the sweep.
            sweep: which one.
            corpus: the corpus' version.
            start: ``new``: only where no sweep is; ``resume``: only where this one is; ``fresh``: in its stead.
            patient: see :class:`Ledger`.

        Raises:
            InputError: what is there is another sweep, or one that the user may want to go on with.
            NotFoundError: there is nothing to resume.
            BusyError: another process is at it.
        """
        if start == "resume" and not (folder / SWEEP).is_file():
            raise NotFoundError("holds no sweep to go on with", where=str(folder), hint="leave --resume out")
        _refuse_foreign(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".lock"):
            ledger = cls(folder, sweep, patient=patient)
            mine = {"sweep": sweep.identity(), "corpus": corpus}
            known = ledger._known() if start != "fresh" else None
            if start == "resume" and known is not None:
                if (other := _difference(known, mine)) is not None:
                    raise InputError(
                        f"holds another sweep: {other}", where=str(folder), hint="name another folder: --to"
                    )
                ledger._read(known)
            elif start == "fresh":
                ledger._clear()
            elif known is not None:
                raise InputError(
                    "holds a sweep",
                    where=str(folder),
                    hint="pass --resume to go on with it, --fresh to throw it away, or name another folder",
                )
            ledger._identity = mine
            ledger._write_sweep()
            try:
                yield ledger
            finally:
                ledger.write()

    # -- trials ----------------------------------------------------------------------------------------------

    @property
    def trials(self) -> Trials:
        """All that ended, by number."""
        metric = self.sweep.metric
        done = tuple(trial for _, trial in sorted(self.done.items()))
        return Trials(sweep=self.sweep.name, metric=metric.name, mode=metric.mode, trials=done)

    @property
    def next_number(self) -> int:
        """One that no trial has had."""
        return max([-1, *self.done, *self.under_way]) + 1

    def of(self, phase: Phase) -> list[Trial]:
        """The trials of a phase that ended."""
        return [trial for _, trial in sorted(self.done.items()) if trial.phase == phase]

    def trial_folder(self, number: int) -> Path:
        """Where a trial keeps its files."""
        return self.folder / "trials" / f"{number:04d}"

    def enter(self, number: int, params: Mapping[str, Any], phase: Phase) -> Begun:
        """A trial is to begin."""
        begun = self.under_way[number] = Begun(number, dict(params), phase)
        self.save()
        return begun

    def begin(self, number: int, run_id: str) -> None:
        """A trial begins, or goes on."""
        begun = self.under_way[number]
        begun.run_id, begun.since = run_id, begun.since or time.monotonic()
        self.save()

    def keep_run(self, run_id: str) -> None:
        """Keep the id of the sweep's own MLflow run."""
        self.run_id = run_id
        self._write_sweep()

    def tell(self, number: int, metrics: Mapping[str, float], step: int) -> None:
        """Metrics at a step of a trial; those of steps that were told before are passed over."""
        curve = self.under_way[number].curve
        if not curve or step > curve[-1][0]:
            curve.append((step, dict(metrics)))
        elif step == curve[-1][0]:
            curve[-1][1].update(metrics)

    def end(self, number: int, state: State, metrics: Mapping[str, float], error: str = "") -> Trial:
        """A trial has ended; it is to be written (:meth:`save`) once MLflow knows."""
        begun = self.under_way.pop(number)
        trial = Trial(
            number=number,
            params=begun.params,
            metrics=dict(metrics),
            curve=tuple(begun.curve),
            state=state,
            phase=begun.phase,
            seconds=begun.spent,
            run_id=begun.run_id,
            error=error,
        )
        self.done[number] = trial
        return trial

    def prune(self) -> None:
        """Remove the files of all trials that ended but the best, as many as the sweep keeps."""
        kept = {trial.number for trial in self.trials.ranked[: self.sweep.keep]}
        for number in self.done.keys() - kept:
            shutil.rmtree(self.trial_folder(number), ignore_errors=True)

    # -- files -----------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write all trials."""
        self.trials.write(self.folder / TRIALS)
        entries = []
        for begun in self.under_way.values():
            entry = dataclasses.asdict(begun) | {"seconds": begun.spent}
            del entry["since"]
            entries.append(entry)
        write_atomic(self.folder / UNDER_WAY, json.dumps(entries, indent=1) + "\n")
        self._written = time.monotonic()

    def save(self) -> None:
        """Write all trials, unless that was just done and the ledger is patient."""
        if not self.patient or time.monotonic() - self._written > EVERY_S:
            self.write()

    def _write_sweep(self) -> None:
        state = {**self._identity, "run_id": self.run_id}
        write_atomic(self.folder / SWEEP, json.dumps(state, indent=1, sort_keys=True) + "\n")

    def _known(self) -> dict[str, Any] | None:
        """What ``sweep.json`` says; None: there is none."""
        path = self.folder / SWEEP
        if not path.is_file():
            return None
        data = read_json(path)
        if not isinstance(data, dict) or not {"sweep", "corpus"} <= data.keys():
            raise IntegrityError("is not the record of a sweep", where=str(path), hint="start over: --fresh")
        return data

    def _read(self, known: Mapping[str, Any]) -> None:
        self.run_id = str(known.get("run_id", ""))
        if (self.folder / TRIALS).is_file():
            self.done = {trial.number: trial for trial in Trials.read(self.folder / TRIALS).trials}
        path = self.folder / UNDER_WAY
        try:
            entries = [Begun(**entry) for entry in (read_json(path) if path.is_file() else [])]
        except TypeError as error:
            raise IntegrityError("is not a list of trials", where=str(path)) from error
        for begun in entries:
            begun.curve = [(int(step), metrics) for step, metrics in begun.curve]
            if begun.number not in self.done:
                self.under_way[begun.number] = begun

    def _clear(self) -> None:
        """Remove what an earlier sweep left; ``_refuse_foreign`` has seen that it is a sweep's."""
        for name in FILES:
            (self.folder / name).unlink(missing_ok=True)
        for name in FOLDERS:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / SWEEP).unlink(missing_ok=True)


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder in which something that no sweep made has the name of a file or folder of a sweep."""
    if (folder / SWEEP).is_file():
        return
    for name in (*FILES, *FOLDERS):
        if (folder / name).exists():
            raise InputError(
                f"holds {name!r} but no {SWEEP}, so no sweep made it and none replaces it",
                where=str(folder),
                hint="name another folder: --to",
            )


def _difference(found: Mapping[str, Any], mine: Mapping[str, Any]) -> str | None:
    """How two sweeps differ, by the first key that does; None: they do not."""
    if found["corpus"] != mine["corpus"]:
        return "its corpus is another"
    theirs, ours = (flat(json.loads(json.dumps(each["sweep"]))) for each in (found, mine))
    for key in sorted(theirs.keys() | ours.keys()):
        if theirs.get(key) != ours.get(key):
            return f"its {key} is {theirs.get(key)!r}, not {ours.get(key)!r}"
    return None
