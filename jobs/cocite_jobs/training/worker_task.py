"""A piece of a driver's work as one task of Ray with the resources of a worker: the driver may be on the head."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError, NotFoundError, StoppedError
from cocite.training.engine.settings import WorkerSettings
from cocite.training.engine.wishes import Wishes
from cocite_jobs.cluster.connection import never_grows
from cocite_jobs.cluster.resources import check_part, living_nodes, resolve_gpus, worker_environment
from cocite_jobs.interruptible import become_interruptible
from cocite_jobs.steps.files import open_seen
from cocite_jobs.steps.run_parts import RETRIES, NodeCheck, Workers, received
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.shared_folder import SharedFolder
from cocite_jobs.training.progress import ProgressCallback, ProgressReceiver, StageSender
from cocite_jobs.training.ray_actors import EventBuffer

DRAIN_INTERVAL_S = 0.3
"""Seconds between two times that the driver takes the task's events."""
END_S = 10
"""Seconds that a task has to remove its temporary files when the driver ends before it."""
INTERRUPT_S = 4
"""Seconds after which a task that goes on is interrupted once more."""

Work = Callable[[Corpus, Location, ProgressCallback], dict[str, Any]]
"""``work(corpus, folder, progress)``: a function of a module, or a ``partial`` of one, that returns plain values. A
second call must be able to go on where the first one's process died."""


@dataclass(frozen=True)
class WorkerTask:
    """What a worker does for a driver, and how errors speak of it.

    Attributes:
        work: the function.
        doing: what it does, as in "stopped while making the training's inputs".
        again: how the user goes on after the command was stopped or failed.
        mark: name of a hidden file that lies in the folder meanwhile; another for each task that may work there.
        workers: the resources of one of these are reserved.
        folder: what the folder is called.
        wait: for a node that has the resources.

    Example:
        >>> def count(corpus, folder, progress):
        ...     return {"papers": len(corpus)}
        >>> task = WorkerTask(count, "counting papers", "run the same command again", ".count", WorkerSettings())
        >>> f"stopped while {task.doing} ({task.again})"
        'stopped while counting papers (run the same command again)'
    """

    work: Work
    doing: str
    again: str
    mark: str
    workers: WorkerSettings
    folder: str = "the model folder"
    wait: bool = False


@dataclass(frozen=True)
class DriverView:
    """What the driver sees, and a worker must see, too.

    Attributes:
        corpus: path or URI under which workers find the corpus.
        version: of the corpus.
        to: the folder that is worked in.
        directory: the driver's working directory, by which relative paths are read.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     to = SharedFolder.marked(Location.of(folder), "the model folder")
        ...     view = DriverView(str(corpus.path), corpus.version, to, folder)
        ...     view.run(lambda corpus, folder, _: {"papers": len(corpus)}, StageSender(lambda event: None))
        {'papers': 423}
    """

    corpus: str
    version: str
    to: SharedFolder
    directory: str

    def run(self, work: Work, sender: StageSender) -> dict[str, Any]:
        """Do some work in this process.

        Args:
            work: the function.
            sender: of the stages, counts and metrics that it tells.

        Raises:
            CociteError: this machine does not see what the driver sees, or sees something else there.
        """
        sender.stage("preparing", 0)
        self.to.check(socket.gethostname())
        corpus = open_seen(self.corpus, self.version)
        seen = Path(self.directory).is_dir()
        with contextlib.chdir(self.directory) if seen else contextlib.nullcontext():
            result = work(corpus, self.to.place, sender)
        sender.flush()
        return result


def run_on_worker(
    task: WorkerTask, corpus: Corpus, source: str, to: Location, progress: ProgressCallback
) -> dict[str, Any]:
    """Have a worker of the Ray that this process is connected to do a task; it ends with this process.

    Args:
        task: what is done. Another worker does it again where the first one died.
        corpus: that it works on.
        source: path or URI under which workers find the corpus.
        to: the folder that it works in, which workers see.
        progress: called with what the work says.

    Returns:
        What the work returned.

    Raises:
        InputError: no node has the resources, or the task's node does not see corpus or folder.
        StoppedError: a SIGTERM came; the task has ended.
        CociteError: the task got no resources in time, died too often, or raised this error itself.
    """
    shared = SharedFolder.marked(to, task.folder, task.mark)
    try:
        view = DriverView(Location.of(source).uri, corpus.version, shared, os.getcwd())
        return _run(task, view, progress)
    finally:
        to.remove(shared.file)


def _run(task: WorkerTask, view: DriverView, progress: ProgressCallback) -> dict[str, Any]:
    """Run the task, and pass on what it says, until it ends; it ends with this process, however that ends."""
    import ray

    nodes, grows = living_nodes(), not never_grows()
    waits = task.wait and grows
    workers = resolve_gpus(task.workers, nodes)
    reserved = Workers("ray", cpus=workers.cpus, gpus=workers.gpus, accelerator=workers.accelerator or "")
    if not waits:
        check_part(reserved.needs, nodes)
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    buffer = ray.remote(num_cpus=0, scheduling_strategy=here)(EventBuffer).remote()
    # By default, a sweep's trial would place the task among its own resources, which are too few.
    placement: dict[str, Any] = {"scheduling_strategy": "DEFAULT"}
    options = {"max_retries": RETRIES, **placement, **reserved.options}
    if environment := worker_environment(workers.gpus or 0, nodes, grows=grows):
        options["runtime_env"] = environment
    progress.stage("starting a worker", 0)
    call = ray.remote(**options)(run_worker_task).remote(task.work, view, buffer)
    receiver, nodes_left = ProgressReceiver(progress, "steps"), NodeCheck(reserved.needs)
    has_begun, until = False, time.monotonic() + workers.timeout
    wishes = Wishes()  # Ray's calls would make another exception of one that a handler of SIGTERM raises
    try:
        with wishes.on_sigterm():
            while not wishes.stopping:
                # Waited for before the last drain: events that were sent just before the end would be lost the other
                # way round.
                ended, _ = ray.wait([call], timeout=DRAIN_INTERVAL_S)
                for event in ray.get(buffer.drain.remote()):
                    has_begun = True
                    receiver.receive(event)
                if ended:
                    return _result(task, call)
                if not waits:
                    nodes_left.check(living_nodes())
                if not (has_begun or waits or workers.retries < 0) and time.monotonic() > until:
                    raise CociteError(
                        f"no worker got its resources in {workers.timeout:g} s for {task.doing}",
                        where="workers",
                        hint="is the cluster busy? raise workers.timeout, or pass --wait",
                    )
    finally:
        _end(call)
    raise StoppedError(f"stopped while {task.doing}", hint=task.again)


def run_worker_task(work: Work, view: DriverView, buffer: Any) -> dict[str, Any]:
    """Do the work in the process of a task of Ray, and tell the driver's buffer of events how far it is."""
    import ray

    become_interruptible()
    # Each event is waited for, so that all are there when the task has ended.
    return view.run(work, StageSender(lambda event: ray.get(buffer.add.remote(event))))


def _result(task: WorkerTask, call: Any) -> dict[str, Any]:
    """The result of the task; what only this machine sees is named as such."""
    try:
        return received(call, task.again)
    except NotFoundError as error:
        if error.where is None or not Path(error.where).exists():
            raise
        raise InputError(
            f"is here, and the machine that is {task.doing} does not see it",
            where=error.where,
            hint="put it where every machine sees it under the same path, or give a URI",
        ) from error


def _end(call: Any) -> None:
    """End a task that goes on: first as Ctrl-C does, which lets it remove its temporary files."""
    import ray

    if not ray.is_initialized():  # an interrupt may have ended it
        return
    until, wait = time.monotonic() + END_S, 0.0
    while not ray.wait([call], timeout=wait)[0]:
        left = until - time.monotonic()
        if left <= 0:
            ray.cancel(call, force=True)
            return
        # Python drops an interrupt that comes while it runs a destructor or a callback: one may not be enough.
        ray.cancel(call)
        wait = min(INTERRUPT_S, left)
