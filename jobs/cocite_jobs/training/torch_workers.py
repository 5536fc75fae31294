"""How a training's workers on Ray find each other: PyTorch's process group, made before they train.

With GPUs it is Ray Train's own way, after a look whether PyTorch has them: Ray believes whoever starts a node about its
GPUs, and where PyTorch finds none there, or was built without NCCL, no other attempt would end otherwise.

On CPUs the workers are told of each other as torchrun tells them. Ray Train's own way imports PyTorch into the process
that controls the workers, which waits for it before it starts them.
"""

from __future__ import annotations

import os
import socket
from typing import Any

from cocite.errors import InputError

LEAVE_S = 30
"""Seconds for the workers to end their group before their processes are ended."""


def group_config(*, use_gpu: bool, timeout: float) -> Any:
    """The configuration of Ray Train's workers by which they form a group.

    Args:
        use_gpu: whether GPUs are reserved for workers.
        timeout: seconds after which an exchange between workers is given up.

    Example:
        >>> group_config(use_gpu=True, timeout=600).timeout_s
        600
    """
    return _gpu_config(timeout) if use_gpu else _cpu_config(timeout)


def _cpu_config(timeout: float) -> Any:
    """A group on CPUs, without a module that imports PyTorch."""
    from ray.train.backend import Backend, BackendConfig

    class CpuBackend(Backend):  # type: ignore[misc]
        """Has each worker join the group at the address of the first."""

        def on_start(self, worker_group: Any, backend_config: Any) -> None:  # noqa: ARG002
            [first, *_] = worker_group.execute(own_address)
            worker_group.execute(join_group, *first, timeout)

        def on_shutdown(self, worker_group: Any, backend_config: Any) -> None:  # noqa: ARG002
            import ray

            calls = worker_group.execute_async(leave_group)
            ray.wait(calls, num_returns=len(calls), timeout=LEAVE_S)

    class CpuConfig(BackendConfig):  # type: ignore[misc]
        """Has that backend."""

        @property
        def backend_cls(self) -> Any:
            return CpuBackend

    return CpuConfig()


def own_address() -> tuple[str, int]:
    """Address of this worker's machine, and a free port of it."""
    import torch  # noqa: F401 - it takes a second, in which another process could take the port
    from ray.train._internal.utils import get_address_and_port

    address, port = get_address_and_port()
    return str(address), int(port)


def join_group(address: str, port: int, timeout: float) -> None:
    """Join the group of a training's workers, as a process of torchrun does.

    Args:
        address, port: of rank 0.
        timeout: seconds after which an exchange is given up.
    """
    from ray.train import get_context

    from cocite.training.engine.world import World

    context = get_context()
    os.environ |= {
        "MASTER_ADDR": address,
        "MASTER_PORT": str(port),
        "RANK": str(context.get_world_rank()),
        "WORLD_SIZE": str(context.get_world_size()),
        "LOCAL_RANK": str(context.get_local_rank()),
        "LOCAL_WORLD_SIZE": str(context.get_local_world_size()),
        "NODE_RANK": str(context.get_node_rank()),
    }
    World.join(timeout=timeout, use_gpu=False)


def leave_group() -> None:
    """End the group in this process, if it is still there."""
    from cocite.training.engine.world import end_group

    end_group()


def _gpu_config(timeout: float) -> Any:
    """Ray Train's own configuration, whose workers look for their GPUs first."""
    from ray.exceptions import RayTaskError
    from ray.train.torch import TorchConfig

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
