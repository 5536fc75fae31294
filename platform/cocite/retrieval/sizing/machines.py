"""How many shards an index is divided into, and how many machines hold it."""

from __future__ import annotations

import math
from typing import NamedTuple

from cocite.errors import InputError
from cocite.retrieval.index.shard_ranges import choose_count
from cocite.retrieval.sizing.growth import Growth
from cocite.retrieval.sizing.needs import Demand, Needs, needs_of

USED = 0.9
"""The share of a machine's memory that is planned; the system and what requests take need the rest."""
MOST_SHARDS = 10_000
"""The most that an index is built in."""


class Machine(NamedTuple):
    """One of the machines, all of which are alike.

    Example:
        >>> Machine(ram=64 * 2**30, cores=16).planned / 2**30
        57.6
    """

    ram: float
    """Bytes."""
    cores: int

    @property
    def planned(self) -> float:
        """Bytes of memory that are planned."""
        return USED * self.ram


class ClusterPlan(NamedTuple):
    """The machines of an index.

    Example:
        >>> from cocite.retrieval.sizing.figures import measured_indexes
        >>> growth = Growth(measured_indexes())
        >>> demand = Demand(papers=10**7, links=9 * 10**7, contexts=4 * 10**7)
        >>> plan = plan_cluster(demand, Machine(64 * 2**30, 16), growth)
        >>> plan.needs.amounts.shards, plan.machines
        (4, 1)
    """

    needs: Needs
    machine: Machine
    replicas: int
    """How often the index is held, each copy answering on its own."""
    shards_a_machine: int
    """How many shards one machine holds: no more than it has cores, so that a query's shards work side by side."""
    machines: int
    """Of all replicas."""
    together: bool
    """Whether one machine holds the coordinator and all shards of a replica; else coordinators have their own."""

    @property
    def coordinator_fits(self) -> bool:
        """Whether one of the machines has enough memory for the coordinator; else it needs a larger one."""
        return self.needs.coordinator.wanted <= self.machine.planned

    @property
    def busiest_bytes(self) -> float:
        """Memory that the fullest machine with shards should have free for this index, in bytes."""
        coordinator, shard = self.needs.coordinator.wanted, self.needs.shard.wanted
        if self.together:
            return coordinator + self.needs.amounts.shards * shard
        return self.shards_a_machine * shard


def plan_cluster(
    demand: Demand, machine: Machine, growth: Growth, *, replicas: int = 1, shards: int | None = None
) -> ClusterPlan:
    """Choose the number of shards, unless it is given, and of machines.

    Raises:
        InputError: a shard does not fit into the memory of a machine.
    """
    needs = needs_of(demand, shards or choose_count(int(demand.papers)), growth)
    while shards is None and needs.shard.wanted > machine.planned and needs.amounts.shards < MOST_SHARDS:
        needs = needs_of(demand, min(2 * needs.amounts.shards, MOST_SHARDS), growth)
    if needs.shard.wanted > machine.planned:
        raise InputError(
            f"each of {needs.amounts.shards:,} shard(s) should have {needs.shard.wanted / 2**30:,.1f} GiB of memory, "
            f"more than {USED:.0%} of {machine.ram / 2**30:,.1f} GiB",
            where="--ram",
            hint="give machines of more memory, or more --shards",
        )
    count = needs.amounts.shards
    whole = needs.coordinator.wanted + count * needs.shard.wanted
    if whole <= machine.planned and count <= machine.cores:
        return ClusterPlan(needs, machine, replicas, count, replicas, together=True)
    fitting = min(machine.cores, int(machine.planned // needs.shard.wanted), count)
    machines = replicas + math.ceil(replicas * count / fitting)
    return ClusterPlan(needs, machine, replicas, fitting, machines, together=False)
