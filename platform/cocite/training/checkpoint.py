"""Training checkpoints: weights, best weights, optimizer state and progress, in safetensors and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from cocite.artifacts import publish, verify
from cocite.errors import InputError
from cocite.manifests import read_json

KIND = "checkpoint"


def save(
    folder: Path,
    model: nn.Module,
    best: dict[str, Tensor],
    optimizers: Sequence[torch.optim.Optimizer],
    progress: dict[str, Any],
    *,
    fingerprint: str,
) -> None:
    """Write a checkpoint; an earlier one stays whole until this one is.

    Args:
        folder: where; replaced when it exists.
        model: the present weights.
        best: the weights of the best epoch so far.
        optimizers: theirs is the state that is kept.
        progress: plain values (epoch, best metric, ...).
        fingerprint: what this training is of; :func:`load` refuses another.

    Raises:
        CociteError: the disk is full, or may not be written.
    """
    tensors: dict[str, Tensor] = {}
    plain: list[dict[str, Any]] = []
    for number, optimizer in enumerate(optimizers):
        state = optimizer.state_dict()
        values: dict[str, dict[str, Any]] = {}
        for index, entries in state["state"].items():
            for name, value in entries.items():
                if isinstance(value, Tensor):
                    tensors[f"{number}.{index}.{name}"] = value.contiguous()
                else:
                    values.setdefault(str(index), {})[name] = value
        plain.append({"values": values, "groups": state["param_groups"]})
    with publish(folder, kind=KIND, meta={"fingerprint": fingerprint}, replace=True) as temporary:
        save_file({k: v.contiguous() for k, v in model.state_dict().items()}, temporary / "model.safetensors")
        save_file({k: v.contiguous() for k, v in best.items()}, temporary / "best.safetensors")
        save_file(tensors, temporary / "optimizer.safetensors")
        (temporary / "progress.json").write_text(
            json.dumps({"progress": progress, "optimizers": plain}, indent=1), encoding="utf-8"
        )


def load(
    folder: Path, model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], *, fingerprint: str
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Put a checkpoint back into a model and its optimizers.

    Returns:
        the best weights, and the plain progress.
    """
    manifest = verify(folder, kind=KIND)
    if manifest.meta.get("fingerprint") != fingerprint:
        raise InputError(
            "is a checkpoint of another training (recipe, corpus or years differ)",
            where=str(folder),
            hint="pass --fresh to start over",
        )
    model.load_state_dict(load_file(folder / "model.safetensors"))
    tensors = load_file(folder / "optimizer.safetensors")
    data = read_json(folder / "progress.json")
    for number, (optimizer, plain) in enumerate(zip(optimizers, data["optimizers"], strict=True)):
        state: dict[int, dict[str, Any]] = {int(i): dict(values) for i, values in plain["values"].items()}
        for key, tensor in tensors.items():
            owner, index, name = key.split(".", 2)
            if int(owner) == number:
                state.setdefault(int(index), {})[name] = tensor
        optimizer.load_state_dict({"state": state, "param_groups": plain["groups"]})
    return load_file(folder / "best.safetensors"), data["progress"]
