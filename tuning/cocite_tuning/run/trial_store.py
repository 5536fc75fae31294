"""The trials of a sweep on disk: which sweep it is, the trials that ended, and those that are running.

A sweep that was killed continues from these files and nothing else. Each is replaced whole; a trial that ended is
written to ``trials.json`` before it is removed from ``under_way.json``, so none is lost and none is counted twice.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cocite.config import flat
from cocite.errors import InputError, IntegrityError, NotFoundError
from cocite.locks import locked
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.output import output_lock
from cocite_tuning.sweep.result import RESULT_FILE
from cocite_tuning.sweep.sweep import Sweep
from cocite_tuning.sweep.trials import TRIALS_FILE, Phase, State, Trial, Trials

SWEEP_FILE, RUNNING_FILE = "sweep.json", "under_way.json"
BEST = "best"
"""Folder within a sweep's that holds the best trial's model, or another artifact that uses its parameters."""
FILES, FOLDERS = (TRIALS_FILE, RUNNING_FILE, RESULT_FILE), ("trials", "shared", BEST)
"""What a sweep's folder holds besides ``sweep.json``."""


@dataclass
class RunningTrial:
    """A trial that was drawn and has not ended.

    Attributes:
        number, params, phase, run_id, curve: as in :class:`~cocite_tuning.sweep.trials.Trial`.
        seconds: that it ran in earlier processes of the sweep.
        since: when it started in this process, by the monotonic clock; None: it has not yet.

    Example:
        >>> RunningTrial(4, {"k1": 1.2}, seconds=90.0).elapsed  # resumed, but not started yet
        90.0
    """

    number: int
    params: dict[str, Any]
    phase: Phase = ""
    run_id: str = ""
    curve: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    seconds: float = 0.0
    since: float | None = None

    @property
    def elapsed(self) -> float:
        """Seconds so far."""
        return self.seconds + (time.monotonic() - self.since if self.since is not None else 0.0)


class TrialStore:
    """The trials of one sweep, on disk or in a remote file system.

    Args:
        folder: of the sweep: a path, or a URI.
        sweep: its settings.
        flush_interval: seconds that :meth:`flush` lets pass between two writes.

    Attributes:
        place: the folder.
        ended: the trials that ended, by number.
        running: those that were drawn and have not ended, by number.
        run_id: MLflow's id of the sweep's own run.

    Example:
        A process draws three trials, finishes one and dies; the next one continues with the other two.

        >>> import tempfile
        >>> from cocite_tuning.sweep.sweep import load_sweep
        >>> with tempfile.TemporaryDirectory() as root:
        ...     folder, sweep = Path(root, "bm25"), load_sweep("bm25")
        ...     with TrialStore.opened(folder, sweep, "v1", start="new") as store:
        ...         for number in range(3):
        ...             _ = store.add(number, {"k1": float(number)}, "")
        ...         _ = store.finish(1, "finished", {"MRR": 0.3})
        ...     with TrialStore.opened(folder, sweep, "v1", start="resume") as store:
        ...         list(store.ended), list(store.running), store.next_number
        ([1], [0, 2], 3)
    """

    def __init__(self, folder: Path | str, sweep: Sweep, *, flush_interval: float = 0.0) -> None:
        self.place, self.sweep, self.flush_interval = Location.of(folder), sweep, flush_interval
        self.ended: dict[int, Trial] = {}
        self.running: dict[int, RunningTrial] = {}
        self.run_id = ""
        self._identity: dict[str, Any] = {}
        self._written = 0.0
        self._pruned: set[int] = set()

    @classmethod
    @contextmanager
    def opened(
        cls,
        folder: Path | str,
        sweep: Sweep,
        corpus: str,
        *,
        start: Literal["new", "resume", "fresh"],
        flush_interval: float = 0.0,
    ) -> Iterator[TrialStore]:
        """Lock a sweep's folder for this process while the block runs, and read what it holds.

        The lock of a folder elsewhere keeps processes of this machine away, and not those of others.

        Args:
            folder: of the sweep: a path, or a URI.
            sweep: its settings.
            corpus: the corpus' version.
            start: ``new``: only where there is no sweep; ``resume``: only where it is this one; ``fresh``: replace it.
            flush_interval: see :class:`TrialStore`.

        Raises:
            InputError: the folder holds another sweep, or with ``new`` one that the user may want to continue.
            NotFoundError: there is nothing to resume.
            BusyError: another process runs the sweep.
        """
        store = cls(folder, sweep, flush_interval=flush_interval)
        names = store.place.names()
        if start == "resume" and SWEEP_FILE not in names:
            raise NotFoundError("holds no sweep to go on with", where=str(folder), hint="leave --resume out")
        _refuse_foreign(names, str(folder))
        with store._lock():
            identity = {"sweep": sweep.identity(), "corpus": corpus}
            recorded = store._read_identity() if start != "fresh" else None
            if start == "resume" and recorded is not None:
                if (difference := _difference(recorded, identity)) is not None:
                    raise InputError(
                        f"holds another sweep: {difference}",
                        where=str(folder),
                        hint="name another folder: --to",
                    )
                store._read(recorded)
            elif start == "fresh":
                store._clear()
            elif recorded is not None:
                raise InputError(
                    "holds a sweep",
                    where=str(folder),
                    hint="pass --resume to go on with it, --fresh to throw it away, or name another folder",
                )
            store._identity = identity
            store._write_identity()
            try:
                yield store
            finally:
                # Whatever ended the block: ``flush`` may have left out the last trials.
                store.write()

    @contextmanager
    def _lock(self) -> Iterator[None]:
        if self.place.local is None:
            with output_lock(self.place, "sweep"):
                yield
            return
        self.place.local.mkdir(parents=True, exist_ok=True)
        with locked(self.place.local / ".lock"):
            yield

    # -- trials ----------------------------------------------------------------------------------------------

    @property
    def trials(self) -> Trials:
        """The trials that ended, in order of their number."""
        metric = self.sweep.metric
        ended = tuple(trial for _, trial in sorted(self.ended.items()))
        return Trials(sweep=self.sweep.name, metric=metric.name, mode=metric.mode, trials=ended)

    @property
    def next_number(self) -> int:
        """A number that no trial has had."""
        return max([-1, *self.ended, *self.running]) + 1

    def ended_in(self, phase: Phase) -> list[Trial]:
        """The trials of a phase that ended."""
        return [trial for _, trial in sorted(self.ended.items()) if trial.phase == phase]

    def trial_place(self, number: int) -> Location:
        """The folder of a trial's own files."""
        return self.place / "trials" / f"{number:04d}"

    def trial_folder(self, number: int) -> Path | str:
        """The same as a path, or as a URI where it is elsewhere."""
        place = self.trial_place(number)
        return place.local or place.uri

    def add(self, number: int, params: Mapping[str, Any], phase: Phase) -> RunningTrial:
        """Add a trial that was drawn."""
        trial = self.running[number] = RunningTrial(number, dict(params), phase)
        self.flush()
        return trial

    def start(self, number: int, run_id: str) -> None:
        """Record that a trial starts or is resumed, and its MLflow run."""
        trial = self.running[number]
        # A restarted trial goes on from its first start: the time of the lost attempt is part of its cost.
        trial.run_id, trial.since = run_id, trial.since or time.monotonic()
        self.flush()

    def set_run_id(self, run_id: str) -> None:
        """Record the id of the sweep's own MLflow run."""
        self.run_id = run_id
        self._write_identity()

    def add_metrics(self, number: int, metrics: Mapping[str, float], step: int) -> None:
        """Add metrics at a step of a trial; a resumed trial repeats earlier steps, whose metrics are ignored."""
        curve = self.running[number].curve
        if not curve or step > curve[-1][0]:
            curve.append((step, dict(metrics)))
        elif step == curve[-1][0]:
            curve[-1][1].update(metrics)

    def finish(self, number: int, state: State, metrics: Mapping[str, float], error: str = "") -> Trial:
        """Record that a trial has ended. The caller writes it with :meth:`flush`, once MLflow has it."""
        running = self.running.pop(number)
        trial = Trial(
            number=number,
            params=running.params,
            metrics=dict(metrics),
            curve=tuple(running.curve),
            state=state,
            phase=running.phase,
            seconds=running.elapsed,
            run_id=running.run_id,
            error=error,
        )
        self.ended[number] = trial
        return trial

    def prune(self) -> None:
        """Remove the files of the trials that ended, except those of the best, as many as the sweep keeps."""
        kept = {trial.number for trial in self.trials.ranked[: self.sweep.keep]}
        for number in self.ended.keys() - kept - self._pruned:
            self.trial_place(number).clear()
            self._pruned.add(number)

    # -- files -----------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write all trials."""
        # Ended trials first: one that a killed process leaves in neither file would be lost.
        self.place.write(TRIALS_FILE, self.trials.to_json())
        entries = []
        for trial in self.running.values():
            entry = dataclasses.asdict(trial) | {"seconds": trial.elapsed}
            del entry["since"]  # a time of this process's clock
            entries.append(entry)
        self.place.write(RUNNING_FILE, json.dumps(entries, indent=1) + "\n")
        self._written = time.monotonic()

    def flush(self) -> None:
        """Write all trials, unless the last write was less than ``flush_interval`` seconds ago."""
        if not self.flush_interval or time.monotonic() - self._written > self.flush_interval:
            self.write()

    def _write_identity(self) -> None:
        record = {**self._identity, "run_id": self.run_id}
        self.place.write(SWEEP_FILE, json.dumps(record, indent=1, sort_keys=True) + "\n")

    def _read_identity(self) -> dict[str, Any] | None:
        """The content of ``sweep.json``; None where there is no such file."""
        data = self._read_json(SWEEP_FILE)
        if data is None:
            return None
        if not isinstance(data, dict) or not {"sweep", "corpus"} <= data.keys():
            where = (self.place / SWEEP_FILE).uri
            raise IntegrityError("is not the record of a sweep", where=where, hint="start over: --fresh")
        return data

    def _read(self, recorded: Mapping[str, Any]) -> None:
        """Read what an earlier process left."""
        self.run_id = str(recorded.get("run_id", ""))
        if (text := self.place.read(TRIALS_FILE)) is not None:
            ended = Trials.parse(text, (self.place / TRIALS_FILE).uri)
            self.ended = {trial.number: trial for trial in ended.trials}
        try:
            entries = [RunningTrial(**entry) for entry in self._read_json(RUNNING_FILE) or []]
        except TypeError as error:
            where = (self.place / RUNNING_FILE).uri
            raise IntegrityError("is not a list of trials", where=where) from error
        for trial in entries:
            trial.curve = [(int(step), metrics) for step, metrics in trial.curve]
            # The process may have died between the two files: then the trial has ended.
            if trial.number not in self.ended:
                self.running[trial.number] = trial

    def _read_json(self, name: str) -> Any:
        """The content of a file; None where there is no such file."""
        text = self.place.read(name)
        if text is None:
            return None
        try:
            return json.loads(text)
        except ValueError as error:
            raise IntegrityError("is not valid JSON", where=(self.place / name).uri) from error

    def _clear(self) -> None:
        """Remove an earlier sweep's files; ``_refuse_foreign`` has made sure that a sweep wrote them."""
        for name in FILES:
            self.place.remove(name)
        for name in FOLDERS:
            (self.place / name).clear()
        # Last: without it, what remains would be refused as not a sweep's.
        self.place.remove(SWEEP_FILE)


def _refuse_foreign(names: Collection[str], folder: str) -> None:
    """Refuse a folder that is no sweep's but holds a file or folder of a name that a sweep would overwrite."""
    if SWEEP_FILE in names:
        return
    for name in (*FILES, *FOLDERS):
        if name in names:
            raise InputError(
                f"holds {name!r} but no {SWEEP_FILE}, so no sweep made it and none replaces it",
                where=folder,
                hint="name another folder: --to",
            )


def _difference(recorded: Mapping[str, Any], identity: Mapping[str, Any]) -> str | None:
    """The first key in which two sweeps differ, with both values; None where they are the same."""
    if recorded["corpus"] != identity["corpus"]:
        return "its corpus is another"
    theirs, ours = (flat(json.loads(json.dumps(each["sweep"]))) for each in (recorded, identity))
    for key in sorted(theirs.keys() | ours.keys()):
        if theirs.get(key) != ours.get(key):
            return f"its {key} is {theirs.get(key)!r}, not {ours.get(key)!r}"
    return None
