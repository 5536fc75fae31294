"""A training's inputs made on a cluster by one task with the resources of a worker: the driver makes none on the head.

The candidates of a cross-encoder that are mined in parts are the exception: the driver shares them out to tasks.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cocite.corpus.store import Corpus
from cocite.errors import CociteError, InputError, NotFoundError, StoppedError
from cocite.training.engine.settings import WorkerSettings
from cocite.training.engine.wishes import Wishes
from cocite_jobs.cluster.connection import never_grows
from cocite_jobs.cluster.resources import check_part, living_nodes, resolve_gpus, worker_environment
from cocite_jobs.steps.files import open_seen
from cocite_jobs.steps.run_parts import RETRIES, NodeCheck, Workers, received
from cocite_jobs.storage.location import Location
from cocite_jobs.storage.shared_folder import SharedFolder
from cocite_jobs.training.inputs import InParts, NeededInput, are_there, make_inputs, needed_inputs
from cocite_jobs.training.progress import ProgressCallback, ProgressReceiver, StageSender
from cocite_jobs.training.ray_actors import EventBuffer

DRAIN_INTERVAL_S = 0.3
"""Seconds between two times that the driver takes the task's events."""
END_S = 10
"""Seconds that a task has to remove its temporary files when the driver ends before it."""


@dataclass(frozen=True)
class InputTask:
    """What a task makes, in values that travel to its process.

    Attributes:
        needs: the inputs, each after those that it is made of.
        corpus: path or URI under which the task finds the corpus.
        version: of the corpus.
        to: the model folder, which the task must see.
        replaced: names of inputs that were made just before.
        folder: the driver's working folder, by which relative paths of the recipe are read.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite_jobs.training.recipes import load_recipe
        >>> corpus, needs = starter_corpus(), needed_inputs(load_recipe("nnselect"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     to = SharedFolder.marked(Location.of(folder), "the model folder")
        ...     task = InputTask(needs, str(corpus.path), corpus.version, to, (), folder)
        ...     task.make(StageSender(lambda event: None))
        {'made': ['paper-words']}
    """

    needs: Sequence[NeededInput]
    corpus: str
    version: str
    to: SharedFolder
    replaced: Collection[str]
    folder: str

    def make(self, sender: StageSender) -> dict[str, Any]:
        """Make the inputs that the model folder does not have.

        Args:
            sender: of the stages and counts.

        Returns:
            ``made``: the names of those that were made.

        Raises:
            CociteError: this machine does not see what the driver named, or sees something else there.
        """
        sender.stage("preparing", 0)
        self.to.check(socket.gethostname())
        corpus = open_seen(self.corpus, self.version)
        seen = Path(self.folder).is_dir()
        with contextlib.chdir(self.folder) if seen else contextlib.nullcontext():
            made = make_inputs(self.needs, corpus, self.to.place, sender, replaced=self.replaced)
        sender.flush()
        return {"made": sorted(made)}


def prepare_inputs_on_ray(
    recipe: Any, corpus: Corpus, to: Location, progress: ProgressCallback, in_parts: InParts
) -> bool:
    """Make the same artifacts as :func:`.inputs.prepare_inputs`, on the Ray that this process is connected to.

    Args:
        recipe: of a kind that the training engine trains; its ``workers`` say what the task reserves.
        corpus: the source of the artifacts.
        to: the model folder, which every worker sees.
        progress: called while they are made.
        in_parts: the corpus as workers find it, and who makes those that can be divided.

    Returns:
        Whether any was made.

    Raises:
        InputError: no node has the resources, or the task's node does not see corpus or model folder.
        StoppedError: a SIGTERM came; the task has ended.
        CociteError: the task got no resources in time, died too often, or could not make an input.
    """
    needs = needed_inputs(recipe)
    mined = make_inputs([need for need in needs if need.is_divided], corpus, to, progress, in_parts=in_parts)
    others = [need for need in needs if not need.is_divided]
    if are_there(others, corpus.version, to, mined):
        return bool(mined)
    folder = SharedFolder.marked(to, "the model folder", f".{recipe.kind}.inputs")
    try:
        task = InputTask(others, Location.of(in_parts.source).uri, corpus.version, folder, mined, os.getcwd())
        made = _run(task, recipe.workers, progress, wait=in_parts.workers.wait)["made"]
    finally:
        to.remove(folder.file)
    return bool(mined or made)


def _run(
    task: InputTask, workers: WorkerSettings, progress: ProgressCallback, *, wait: bool
) -> dict[str, Any]:
    """Run the task, and pass on what it says, until it ends; it ends with this process, however that ends."""
    import ray

    nodes, waits = living_nodes(), wait and not never_grows()
    workers = resolve_gpus(workers, nodes)
    reserved = Workers("ray", cpus=workers.cpus, gpus=workers.gpus, accelerator=workers.accelerator or "")
    if not waits:
        check_part(reserved.needs, nodes)
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False
    )
    buffer = ray.remote(num_cpus=0, scheduling_strategy=here)(EventBuffer).remote()
    options: dict[str, Any] = {"max_retries": RETRIES, **reserved.options}
    if environment := worker_environment(workers.gpus or 0, nodes):
        options["runtime_env"] = environment
    progress.stage("starting a worker", 0)
    call = ray.remote(**options)(make_inputs_on_a_worker).remote(task, buffer)
    receiver, nodes_left = ProgressReceiver(progress, "inputs"), NodeCheck(reserved.needs)
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
                    return _result(call)
                if not waits:
                    nodes_left.check(living_nodes())
                if not (has_begun or waits or workers.retries < 0) and time.monotonic() > until:
                    raise CociteError(
                        f"no worker got its resources in {workers.timeout:g} s to make the inputs",
                        where="workers",
                        hint="is the cluster busy? raise workers.timeout, or pass --wait",
                    )
    finally:
        _end(call)
    raise StoppedError(
        "stopped while its inputs were made",
        where="training",
        hint="the same command goes on: those that are made are kept",
    )


def make_inputs_on_a_worker(task: InputTask, buffer: Any) -> dict[str, Any]:
    """Make inputs in the process of a task of Ray, and tell the driver's buffer of events how far it is."""
    import ray

    # Each event is waited for, so that all are there when the task has ended.
    return task.make(StageSender(lambda event: ray.get(buffer.add.remote(event))))


def _result(call: Any) -> dict[str, Any]:
    """The result of the task; what only this machine sees is named as such."""
    try:
        return received(call)
    except NotFoundError as error:
        if error.where is None or not Path(error.where).exists():
            raise
        raise InputError(
            "is here, and the machine that makes the training's inputs does not see it",
            where=error.where,
            hint="put it where every machine sees it under the same path, or give a URI",
        ) from error


def _end(call: Any) -> None:
    """End a task that goes on: first as Ctrl-C does, which lets it remove its temporary files."""
    import ray

    if not ray.is_initialized():  # an interrupt may have ended it
        return
    ended, _ = ray.wait([call], timeout=0)
    if ended:
        return
    ray.cancel(call)
    ended, _ = ray.wait([call], timeout=END_S)
    if not ended:
        ray.cancel(call, force=True)
