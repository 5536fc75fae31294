"""What the process of a job's command reserves on its node, and whether a cluster has a node for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cocite.errors import InputError

WAITING = 0.01
"""CPUs of a command that hands its work to workers and waits, where the head of the cluster offers none: enough to keep
the command off the head. Where the head offers CPUs, such a command reserves none, and the workers get all."""
WORKING = 1.0
"""CPUs of a command that does its work itself."""
ACCELERATOR = "accelerator_type:"
"""Beginning of the names by which Ray counts the nodes with an accelerator; each node has 1 of its own."""
PRESENT = 0.001
"""The amount of such a resource that is reserved: many processes share a node's 1."""
GPUS = "CUDA_VISIBLE_DEVICES"
"""Variable that names the GPUs that a process sees."""
HEAD = "node:__internal_head__"
"""The resource by which Ray marks a cluster's head."""


@dataclass(frozen=True)
class DriverResources:
    """What a job's command reserves.

    Attributes:
        cpus: CPUs.
        gpus: GPUs.
        memory: bytes; 0: none is reserved.
        others: amounts of the cluster's own resources, by name.

    Example:
        >>> DriverResources(1, memory=2**30, others={"disk": 1}).options()
        {'entrypoint_num_cpus': 1, 'entrypoint_memory': 1073741824, 'entrypoint_resources': {'disk': 1}}
    """

    cpus: float = WORKING
    gpus: float = 0
    memory: int = 0
    others: Mapping[str, float] = field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """By the names of Ray's client; what is not reserved is left out."""
        options = {
            "entrypoint_num_cpus": self.cpus,
            "entrypoint_num_gpus": self.gpus,
            "entrypoint_memory": self.memory,
            "entrypoint_resources": dict(self.others),
        }
        return {name: value for name, value in options.items() if value}

    def on(self, nodes: Sequence[Mapping[str, float]]) -> DriverResources:
        """What is reserved on a cluster with such nodes.

        Args:
            nodes: the resources of each living node, by Ray's names.

        Example:
            >>> DriverResources(WAITING).on([{HEAD: 1.0, "CPU": 2.0}]).cpus
            0
        """
        works = any(HEAD in node and node.get("CPU", 0.0) > 0 for node in nodes)
        return replace(self, cpus=0) if self.cpus == WAITING and works else self

    def check(self, nodes: Sequence[Mapping[str, float]]) -> None:
        """Refuse what no node has: Ray would keep the job waiting, and fail it after a quarter of an hour.

        Args:
            nodes: the resources of each living node, by Ray's names.

        Raises:
            InputError: no node has all of it.

        Example:
            >>> DriverResources(2).check([{"CPU": 1.0}, {"CPU": 4.0}])
            >>> DriverResources(8).check([{"CPU": 1.0}, {"CPU": 4.0}])
            Traceback (most recent call last):
            cocite.errors.InputError: the job's command reserves 8 CPU, and no node of the cluster has that (pass ...)
        """
        needed = {"CPU": self.cpus, "GPU": self.gpus, "memory": float(self.memory), **self.others}
        needed = {name: amount for name, amount in needed.items() if amount}
        if any(all(node.get(name, 0.0) >= amount for name, amount in needed.items()) for node in nodes):
            return
        reserved = ", ".join(
            f"{amount / 2**30:g} GiB of memory" if name == "memory" else f"{amount:g} {name}"
            for name, amount in needed.items()
        )
        raise InputError(
            f"the job's command reserves {reserved}, and no node of the cluster has that",
            hint="pass --wait if the cluster grows, or reserve less: --driver-cpus, --driver-gpus",
        )
