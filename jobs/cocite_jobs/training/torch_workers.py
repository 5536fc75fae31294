"""The process group of a training's workers on Ray, made after a look whether PyTorch has their GPUs.

Ray believes whoever starts a node about its GPUs. Where PyTorch finds none there, or was built without NCCL, no other
attempt would end otherwise.
"""

from __future__ import annotations

import socket
from typing import Any

from cocite.errors import InputError


def torch_config(*, use_gpu: bool, timeout: float) -> Any:
    """Ray Train's ``TorchConfig``, whose workers refuse GPUs that PyTorch cannot use before they form a group.

    Args:
        use_gpu: whether GPUs are reserved for workers.
        timeout: seconds after which an exchange between workers is given up.

    Example:
        >>> torch_config(use_gpu=True, timeout=600).timeout_s
        600
    """
    from ray.exceptions import RayTaskError
    from ray.train.torch import TorchConfig

    if not use_gpu:
        return TorchConfig(timeout_s=int(timeout))
    backend: Any = TorchConfig().backend_cls

    class CheckedBackend(backend):  # type: ignore[misc]
        """Looks for the GPUs first."""

        def on_start(self, worker_group: Any, backend_config: Any) -> None:
            try:
                worker_group.execute(check_gpu)
            except RayTaskError as error:
                if not isinstance(error.cause, InputError):
                    raise
                # Ray does not free what is reserved for workers whose backend raises, and the next training would wait
                # for it. So the error is raised by what they train with.
                worker_group.execute(refuse, error.cause)
                return
            super().on_start(worker_group, backend_config)

    class CheckedConfig(TorchConfig):  # type: ignore[misc]
        """Has the backend that looks."""

        @property
        def backend_cls(self) -> Any:
            return CheckedBackend

    return CheckedConfig(timeout_s=int(timeout))


_refusals: list[InputError] = []


def refuse(error: InputError) -> None:
    """Have :func:`raise_refusal` raise an error in this process."""
    _refusals.append(error)


def raise_refusal() -> None:
    """Refuse to train in this process, where any worker's process cannot.

    Raises:
        InputError: what :func:`check_gpu` found in that process.
    """
    if _refusals:
        raise _refusals[0]


def check_gpu() -> None:
    """Refuse to train in this process, which Ray has given a GPU, where PyTorch cannot use it.

    Raises:
        InputError: PyTorch finds no GPU, or cannot exchange what lies on GPUs.
    """
    import torch

    machine = socket.gethostname()
    if not torch.cuda.is_available():
        raise InputError(
            f"Ray has given a worker a GPU on {machine}, and PyTorch finds none there",
            where="workers.gpus",
            hint="install a PyTorch with CUDA and see to the driver, or set it to 0 to train on CPUs",
        )
    if not torch.distributed.is_nccl_available():
        raise InputError(
            f"PyTorch on {machine} was built without NCCL, by which workers on GPUs train together",
            where="workers.gpus",
            hint="install a PyTorch with NCCL, or set it to 0 to train on CPUs",
        )
