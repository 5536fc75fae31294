"""What the coordinator and each shard of an index need: memory, disk and time.

Memory is told apart by what the system can do with it. Resident memory is written by the process, and must fit. Hot
files are mapped and read by every search: the inverted lists, and the exact vectors where these are searched; they
should fit, or searches read the disk. The other files are mapped, and a query reads a few hundred places of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cocite.retrieval.engines.vectors import choose_kind
from cocite.retrieval.sizing.growth import Amounts, Growth, of_shards

ID_BYTES = 8
"""FAISS numbers each vector of its lists."""


@dataclass(frozen=True)
class Demand:
    """What an index is to hold.

    Attributes:
        papers, links, contexts: how many.
        encoders: the dimension of the vectors of each encoder, by its name.

    Example:
        >>> Demand(papers=10**6, links=9 * 10**6, contexts=4 * 10**6, encoders={"nnselect": 64}).encoders
        {'nnselect': 64}
    """

    papers: float
    links: float
    contexts: float
    encoders: Mapping[str, int] = field(default_factory=dict)


class Memory(NamedTuple):
    """Bytes of memory of one process, and of the files that it maps.

    Example:
        >>> Memory(resident=4.0, hot=2.0, mapped=10.0).wanted
        6.0
    """

    resident: float
    """Anonymous."""
    hot: float
    """Mapped files that every search reads."""
    mapped: float
    """Other mapped files."""

    @property
    def wanted(self) -> float:
        """What should be in memory."""
        return self.resident + self.hot


class Needs(NamedTuple):
    """What an index of some shards needs.

    Example:
        >>> from cocite.retrieval.sizing.figures import measured_indexes
        >>> needs = needs_of(Demand(10**7, 9 * 10**7, 4 * 10**7), 4, Growth(measured_indexes()))
        >>> needs.amounts.shards, needs.shard.hot < needs.disk, needs.parallel_ms["local"] < needs.serial_ms["local"]
        (4, True, True)
    """

    amounts: Amounts
    """What the index holds."""
    coordinator: Memory
    """The corpus store, the vocabularies, and the counts of links."""
    shard: Memory
    """Each shard."""
    coordinator_disk: float
    """Bytes."""
    shard_disk: float
    """Bytes of each shard."""
    build_cpu_s: float
    """Seconds, without the encoding of vectors."""
    parallel_ms: Mapping[str, float]
    """Latency by kind of query, with every shard on a core of its own, without network and vectors."""
    serial_ms: Mapping[str, float]
    """The same with all shards asked one after the other, as in one process of one thread."""

    @property
    def disk(self) -> float:
        """Bytes of the whole index."""
        return self.coordinator_disk + self.amounts.shards * self.shard_disk


def needs_of(demand: Demand, shards: int, growth: Growth) -> Needs:
    """What an index of so many shards needs."""
    amounts = growth.amounts(demand.papers, demand.contexts, demand.links, shards)
    parts = growth.part_bytes(amounts)
    vectors = [vector_memory(amounts.shard_papers, dimension) for dimension in demand.encoders.values()]
    hot = sum(size for part, size in parts.items() if of_shards(part) and _is_hot(part)) / shards
    rest = sum(size for part, size in parts.items() if of_shards(part) and not _is_hot(part)) / shards
    corpus = sum(size for part, size in parts.items() if not of_shards(part))
    shard = Memory(
        growth.process + sum(memory.resident for memory in vectors),
        hot + sum(memory.hot for memory in vectors),
        rest + sum(memory.mapped for memory in vectors),
    )
    kinds = growth.measured[0].cpu_ms
    coordinator_ms = {kind: growth.coordinator_ms(kind, amounts) for kind in kinds}
    shard_ms = {kind: growth.shard_ms(kind, amounts) for kind in kinds}
    return Needs(
        amounts,
        Memory(growth.process + growth.opened(amounts), 0.0, corpus),
        shard,
        corpus,
        hot + rest + sum(sum(memory) for memory in vectors),
        growth.build_cpu_s(amounts),
        {kind: coordinator_ms[kind] + shard_ms[kind] for kind in kinds},
        {kind: coordinator_ms[kind] + shards * shard_ms[kind] for kind in kinds},
    )


def vector_memory(count: float, dimension: int) -> Memory:
    """The vectors of one encoder in a shard, of the kind that is chosen for so many; computed from their format.

    Example:
        >>> vector_memory(1_000_000, 64)
        Memory(resident=72000000.0, hot=0.0, mapped=256000000.0)
    """
    exact = 4.0 * dimension * count
    match choose_kind(int(count)):
        case "flat":
            return Memory(0.0, exact, 0.0)
        case "ivf":
            return Memory(1.0 * (dimension + ID_BYTES) * count, 0.0, exact)
        case _:
            return Memory((dimension / 4 + ID_BYTES) * count, 0.0, exact)


def _is_hot(part: str) -> bool:
    return part.endswith(": lists") or part == "words by shard"
