"""Checkpoints: one format for every backend and any number of workers.

A checkpoint is an artifact. Each rank writes the parameters it owns (fp32 weights, AdamW's moments, and the best
weights so far where they are not the present ones) into a shard of its own; rank 0 adds the progress, the task's own
state, and the manifest. What was mined lies beside it (see ``mining``). Nothing in it depends on how many ranks wrote
it, or how they had cut the parameters.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from cocite.artifacts import sha256
from cocite.atomic_files import write_atomic
from cocite.errors import CociteError, InputError, WriteError
from cocite.manifests import MANIFEST, manifest_text, read_json, read_manifest
from cocite.training.engine.backends.base import MOMENTS, Backend, Slots, buffers_of
from cocite.training.engine.world import World
from cocite.write_errors import FULL, system_error

KIND = "training-checkpoint"


@dataclass
class Progress:
    """The progress of a training.

    Attributes:
        step: optimizer steps taken.
        epoch: the epoch that the next step belongs to, from 0.
        position: steps of that epoch that were taken.
        total: steps of the whole training, as the schedule counts.
        seconds: how long it took, resumed parts together.
        tokens: tokens of the examples trained on.
        evaluated: step of the last evaluation; -1: none.
        last: its metrics.
        best_step: step of the best evaluation; -1: none.
        best: its metrics.
        stale: evaluations since then.
        plateaus: evaluations that were no better than the best before them, since the start.
        start: metrics of the first evaluation, before the first step.

    Example:
        >>> progress = Progress(step=40, evaluated=40, best_step=20, stale=1)
        >>> asdict(progress)["best_step"]
        20
    """

    step: int = 0
    epoch: int = 0
    position: int = 0
    total: int = 0
    seconds: float = 0.0
    tokens: int = 0
    evaluated: int = -1
    last: dict[str, float] = field(default_factory=dict)
    best_step: int = -1
    best: dict[str, float] = field(default_factory=dict)
    stale: int = 0
    plateaus: int = 0
    start: dict[str, float] = field(default_factory=dict)


def owners(model: nn.Module, workers: int) -> dict[str, int]:
    """The rank that writes each parameter: parts of about equal size, in the model's order."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    sizes = np.array([parameter.numel() for parameter in parameters], dtype=np.float64)
    middle = np.cumsum(sizes) - sizes / 2
    owner = np.minimum((middle * workers / max(sizes.sum(), 1)).astype(int), workers - 1)
    return dict(zip(names, owner.tolist(), strict=True))


def own_slots(
    backend: Backend, owner: Mapping[str, int], rank: int, *, moments: bool
) -> dict[str, dict[str, Tensor]]:
    """This rank's part of the parameters, copied to the CPU. All ranks call it together."""
    return {
        name: {key: value.to("cpu", copy=True).contiguous() for key, value in slots.items()}
        for name, slots in backend.slots(moments=moments)
        if owner[name] == rank
    }


def leave_whole(model: nn.Module, own: Mapping[str, Tensor], owner: Mapping[str, int], world: World) -> None:
    """Put weights that the ranks hold in parts into the model, on every rank. All ranks call it together.

    Args:
        model: not wrapped by anything.
        own: the weights that this rank owns.
        owner: the rank that owns each parameter.
        world: of the ranks.
    """
    for name, parameter in model.named_parameters():
        source = (
            own[name].to(parameter.device, parameter.dtype)
            if owner[name] == world.rank
            else torch.empty_like(parameter.data)
        )
        parameter.data.copy_(world.spread(source.contiguous(), owner[name]))


def snapshot(
    backend: Backend,
    owner: Mapping[str, int],
    world: World,
    *,
    best: Mapping[str, Tensor],
    state: Mapping[str, Tensor],
    progress: Progress,
    meta: Mapping[str, Any],
) -> Callable[[Path], None]:
    """Copy all that a checkpoint holds; returns what writes it into a folder, while the training may go on.

    Args:
        backend: has the weights. All ranks call it together.
        owner: the rank that writes each parameter.
        world: of the ranks when they write.
        best, state, progress, meta: see :func:`write`; ``best`` is not changed in place by its owner.
    """
    slots = own_slots(backend, owner, world.rank, moments=True)
    kept = {name: value.to("cpu", copy=True) for name, value in state.items()}
    kept |= {f"buffer:{name}": buffer.to("cpu", copy=True) for name, buffer in backend.buffers()}
    best, progress = dict(best), replace(progress)
    return lambda folder: write(
        folder, world, slots=slots, best=best, state=kept, progress=progress, meta=meta
    )


def write(
    folder: Path,
    world: World,
    *,
    slots: Mapping[str, Slots],
    best: Mapping[str, Tensor],
    state: Mapping[str, Tensor],
    progress: Progress,
    meta: Mapping[str, Any],
) -> None:
    """Write this rank's part of a checkpoint; with all ranks' parts in one folder it is a whole artifact.

    All ranks call it together, and all of them raise if one could not write.

    Args:
        folder: exists; the same for all ranks, or one for each, to be merged.
        world: who writes.
        slots: see :func:`own_slots`.
        best: best weights of the same parameters; empty where the present ones are the best.
        state: what only rank 0 writes: buffers, the task's state, the lengths of the epoch.
        progress: see there.
        meta: what the manifest says: the fingerprint, the dev metrics, and the artifact of what was mined.

    Raises:
        CociteError: a disk is full, or cannot be written.
    """
    tensors = {f"{key}:{name}": value for name, entry in slots.items() for key, value in entry.items()}
    tensors |= {f"best:{name}": value for name, value in best.items()}
    files: dict[str, dict[str, Any]] = {}
    problem: str | None = None
    try:
        _save(folder / f"shard-{world.rank:05d}.safetensors", tensors, files)
        if world.first:
            _save(folder / "state.safetensors", dict(state), files)
            path = folder / "progress.json"
            write_atomic(path, json.dumps(asdict(progress) | {"shards": world.size}, indent=1) + "\n")
            files[path.name] = _entry(path)
    except (OSError, WriteError, SafetensorError) as error:
        problem = _description(error)
    merged: dict[str, dict[str, Any]] = {}
    # A rank that cannot write must not raise alone: the others would wait for it at the next exchange.
    for rank, (theirs, trouble) in enumerate(world.collect((files, problem))):
        if trouble is not None:
            raise CociteError(
                f"the checkpoint of step {progress.step} could not be written by rank {rank}: {trouble}",
                where=str(folder.parent),
                hint="the checkpoint before it is whole: make room, then resume",
            )
        merged |= theirs
    trouble = None
    if world.first:
        try:
            # The manifest comes last: with it the folder is a whole artifact.
            write_atomic(folder / MANIFEST, manifest_text(KIND, meta, merged))
        except (OSError, WriteError) as error:
            trouble = _description(error)
    trouble = world.agree(trouble)
    if trouble is not None:
        raise CociteError(
            f"the checkpoint of step {progress.step} could not be written: {trouble}",
            where=str(folder.parent),
            hint="the checkpoint before it is whole: make room, then resume",
        )


def _save(path: Path, tensors: dict[str, Tensor], files: dict[str, dict[str, Any]]) -> None:
    save_tensors(path, tensors)
    files[path.name] = _entry(path)


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors into a new file, and wait until they are on the disk.

    Raises:
        OSError: the disk is full, or cannot be written.
    """
    try:
        save_file({key: value.contiguous() for key, value in tensors.items()}, path)
    except SafetensorError as error:
        # safetensors wraps the system's error in one of its own.
        raise OSError(system_error(error) or errno.EIO, _description(error)) from error
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _entry(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256(path)}


def _description(error: Exception) -> str:
    """A sentence for a write error; safetensors wraps the system's message in one of its own."""
    if isinstance(error, WriteError):
        return error.message
    if (words := FULL.get(system_error(error) or 0)) is not None:
        return words
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


class Saved:
    """A checkpoint opened for reading: tensors come from the disk as they are asked for.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.systems.citeomatic.nnselect.task import build
        >>> from cocite.systems.citeomatic.nnselect.recipe import NNSelectRecipe
        >>> from cocite.training.engine.loop import train
        >>> from cocite.training.engine.stores import FolderStore
        >>> recipe = NNSelectRecipe.parse({"model": {"dimension": 4}, "training": {"steps": 2}})
        >>> with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ...     store = FolderStore(Path(folder), World(), metric="R@20")
        ...     result = train(build(recipe, starter_corpus()), recipe.training, world=World(), store=store)
        ...     saved = Saved.open(store.checkpoints()[-1], stack, fingerprint="")
        ...     saved.progress.step, sorted(saved.slots("words.direction"))
        (2, ['exp_avg', 'exp_avg_sq', 'weight'])
    """

    def __init__(
        self, folder: Path, meta: Mapping[str, Any], progress: Progress, shards: dict[str, Any], state: Any
    ) -> None:
        self.folder, self.meta, self.progress = folder, meta, progress
        self._shards = shards  # the open file that holds each tensor
        self._state = state

    @classmethod
    def open(cls, folder: Path, stack: ExitStack, *, fingerprint: str) -> Self:
        """Open a checkpoint whose files were verified.

        Args:
            folder: the checkpoint.
            stack: closes its files.
            fingerprint: of the training that wants to go on.

        Raises:
            InputError: it belongs to another training.
        """
        manifest = read_manifest(folder, kind=KIND)
        if manifest.meta.get("fingerprint") != fingerprint:
            raise InputError(
                "is a checkpoint of another training: the recipe or the corpus differs",
                where=str(folder),
                hint="resume with the recipe and corpus it was made with, or start afresh in another folder",
            )
        data = read_json(folder / "progress.json")
        shards: dict[str, Any] = {}
        for number in range(data.pop("shards")):
            file = stack.enter_context(safe_open(folder / f"shard-{number:05d}.safetensors", framework="pt"))
            shards |= dict.fromkeys(file.keys(), file)
        state = stack.enter_context(safe_open(folder / "state.safetensors", framework="pt"))
        return cls(folder, manifest.meta, Progress(**data), shards, state)

    def slots(self, name: str) -> Slots:
        """Weight and moments of a parameter."""
        keys = [key for key in ("weight", *MOMENTS) if f"{key}:{name}" in self._shards]
        return {key: self._shards[f"{key}:{name}"].get_tensor(f"{key}:{name}") for key in keys}

    def best(self, name: str) -> Tensor:
        """The best weight of a parameter so far."""
        key = f"best:{name}" if f"best:{name}" in self._shards else f"weight:{name}"
        tensor: Tensor = self._shards[key].get_tensor(key)
        return tensor

    def state(self, prefix: str) -> dict[str, Tensor]:
        """The tensors that rank 0 wrote under names that begin with ``prefix:``, without it."""
        start = f"{prefix}:"
        return {
            key.removeprefix(start): self._state.get_tensor(key)
            for key in self._state.keys()  # noqa: SIM118 - not a mapping
            if key.startswith(start)
        }

    def load(self, model: nn.Module) -> None:
        """Put the weights and buffers into a model that is not wrapped by anything.

        Raises:
            InputError: the model has other weights.
        """
        for name, parameter in model.named_parameters():
            slots = self.slots(name)
            if "weight" not in slots or slots["weight"].shape != parameter.shape:
                raise InputError(
                    f"holds no weight {name!r} of shape {tuple(parameter.shape)}: it is of another model",
                    where=str(self.folder),
                    hint="resume with the recipe it was made with, or start afresh in another folder",
                )
            parameter.data.copy_(slots["weight"])
        stored = self.state("buffer")
        for name, buffer in buffers_of(model):
            if name in stored:
                buffer.copy_(stored[name])
