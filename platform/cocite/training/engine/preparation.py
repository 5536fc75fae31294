"""What a task prepares before the first step, kept beside the checkpoints: a resumed training does not repeat it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from safetensors.torch import load_file

from cocite.manifests import read_manifest
from cocite.training.engine.checkpoints import save_tensors
from cocite.training.engine.stores import Store
from cocite.training.engine.task import PreparedTask, TrainTask
from cocite.training.engine.world import World

NAME, FILE = "prepared", "prepared.safetensors"


def prepare(
    task: TrainTask[Any],
    world: World,
    store: Store | None,
    fingerprint: str,
    stage: Callable[[str], None],
) -> None:
    """Let a :class:`~.task.PreparedTask` prepare, or give it what it prepared before. All ranks call it together.

    Args:
        task: any; one that prepares nothing is left as it is.
        world: the processes that train together.
        store: keeps what was prepared; None: nothing is kept.
        fingerprint: what this training is of; what was prepared for another is replaced.
        stage: receives a description of what begins.

    Raises:
        CociteError: what was kept is damaged, or cannot be written.

    Example:
        >>> class Warm:
        ...     def prepare(self, world, stage):
        ...         stage("warming up")
        ...         return {}
        ...     def load_prepared(self, prepared):
        ...         pass
        >>> prepare(Warm(), World(), None, "", print)
        warming up
    """
    if not isinstance(task, PreparedTask) or (store is not None and _load(task, store, fingerprint)):
        return
    prepared = dict(task.prepare(world, stage))
    if store is not None and prepared:
        store.save_beside(
            NAME, lambda folder: save_tensors(folder / FILE, prepared), {"fingerprint": fingerprint}
        )
        del prepared
        # From now on the ranks of a machine share the file's pages, instead of an array of each.
        _load(task, store, fingerprint)


def _load(task: PreparedTask, store: Store, fingerprint: str) -> bool:
    """Give a task what was kept of this training; False: there is nothing."""
    with store.beside(NAME) as folder:
        if folder is None or read_manifest(folder).meta.get("fingerprint") != fingerprint:
            return False
        task.load_prepared(load_file(folder / FILE))  # maps the file
        return True
