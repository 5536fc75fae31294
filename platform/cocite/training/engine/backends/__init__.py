"""Backends, which compute and apply gradients: plain PyTorch, DistributedDataParallel, DeepSpeed ZeRO."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from cocite.errors import ConfigError
from cocite.nn.precision import training_precision
from cocite.training.engine.backends.base import Backend
from cocite.training.engine.backends.torch_backend import TorchBackend
from cocite.training.engine.optimizers import ParameterGroup
from cocite.training.engine.settings import TrainingSettings
from cocite.training.engine.world import World

__all__ = ["Backend", "in_common_precision", "make_backend"]


def in_common_precision(settings: TrainingSettings, world: World) -> TrainingSettings:
    """The settings with the precision in which every rank can compute: see :func:`training_precision`.

    Raises:
        ConfigError: the environment names no precision.
    """
    if settings.precision == "fp32":
        return settings
    [is_slow] = world.any_of([training_precision("bf16", world.device) == "fp32"])
    return settings.model_copy(update={"precision": "fp32"}) if is_slow else settings


def make_backend(
    model: nn.Module, settings: TrainingSettings, world: World, groups: Sequence[ParameterGroup] = ()
) -> Backend:
    """The backend that the settings name.

    Args:
        model: what is trained.
        settings: backend, optimizer, precision.
        world: the processes that train together.
        groups: parameters that are not stepped as the rest.

    Raises:
        ConfigError: it cannot do what the settings or the parameters ask for, or with so many processes.
    """
    if settings.backend == "plain" and world.size > 1:
        raise ConfigError(
            f"backend: plain trains on one process, and there are {world.size}",
            where="training.backend",
            hint="set it to ddp or deepspeed",
        )
    if world.device.type == "cuda":  # torch keeps it for the whole process
        torch.set_float32_matmul_precision("high" if settings.tf32 else "highest")
    if settings.backend == "deepspeed":
        if groups:
            raise ConfigError(
                "deepspeed steps all weights alike, and this model has tables of its own optimizer or rate",
                where="training.backend",
                hint="set it to ddp",
            )
        from cocite.training.engine.backends.deepspeed_backend import DeepSpeedBackend

        return DeepSpeedBackend(model, settings, world)
    return TorchBackend(model, settings, world, groups)
