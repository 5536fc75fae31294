"""A training's inputs made on a cluster by one task with the resources of a worker: the driver makes none on the head.

The candidates of a cross-encoder that are mined in parts are the exception: the driver shares them out to tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from cocite.corpus.store import Corpus
from cocite_jobs.storage.location import Location
from cocite_jobs.training.inputs import InParts, NeededInput, are_there, make_inputs, needed_inputs
from cocite_jobs.training.progress import ProgressCallback
from cocite_jobs.training.worker_task import WorkerTask, run_on_worker


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
        CociteError: see :func:`.worker_task.run_on_worker`; or an input could not be made.
    """
    needs = needed_inputs(recipe)
    # Of what is there already nothing is asked: the index of its making may be gone.
    divided = [need for need in needs if not are_there([need], corpus.version, to) and need.is_divided(to)]
    mined = make_inputs(divided, corpus, to, progress, in_parts=in_parts)
    others = [need for need in needs if need not in divided]
    if are_there(others, corpus.version, to, mined):
        return bool(mined)
    task = WorkerTask(
        partial(_make, others, mined),
        doing="making the training's inputs",
        again="run the same command again: those that are made are kept",
        mark=f".{recipe.kind}.inputs",
        workers=recipe.workers,
        wait=in_parts.workers.wait,
    )
    made = run_on_worker(task, corpus, in_parts.source, to, progress)["made"]
    return bool(mined or made)


def _make(
    needs: Sequence[NeededInput],
    replaced: Collection[str],
    corpus: Corpus,
    to: Location,
    progress: ProgressCallback,
) -> dict[str, Any]:
    """Make the inputs that the model folder does not have, in the task's process; returns the names of those made."""
    return {"made": sorted(make_inputs(needs, corpus, to, progress, replaced=replaced))}
