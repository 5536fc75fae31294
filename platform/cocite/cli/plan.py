"""``cocite plan``: the shards, machines, memory, disk and time of an index that nobody has built yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cocite.cli.console import out, print_json, print_table, print_warnings
from cocite.cli.options import JsonOption
from cocite.errors import InputError

if TYPE_CHECKING:
    from cocite.retrieval.sizing.figures import MeasuredIndex
    from cocite.retrieval.sizing.machines import ClusterPlan

app = typer.Typer(help="Compute what an index of a given size needs.")

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
UNITS |= {f"{unit}I": 2 ** (10 * power) for power, unit in enumerate(("K", "M", "G", "T"), 1)}
LEAST_RAM, MOST_RAM = 2**30, 2**50
MOST_DIMENSION = 65_536
GIB = 2**30


@app.command()
def plan(
    papers: Annotated[float, typer.Option(min=1, max=1e10, help="Papers, as 250e6.")],
    links: Annotated[
        float | None,
        typer.Option(min=0, max=1e12, help="Links between them [default: as many a paper as was measured]."),
    ] = None,
    contexts: Annotated[
        float | None,
        typer.Option(min=0, max=1e12, help="Citation contexts [default: as many a paper as was measured]."),
    ] = None,
    encoders: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:DIMENSION", help="An encoder whose vectors the index holds."),
    ] = None,
    ram: Annotated[str, typer.Option(metavar="SIZE", help="Memory of a machine.")] = "64GiB",
    cores: Annotated[int, typer.Option(min=1, max=4096, help="Cores of a machine.")] = 16,
    replicas: Annotated[int, typer.Option(min=1, max=1000, help="Copies of the index that answer.")] = 1,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000, help="Shards [default: as `cocite index build`, more where memory asks]."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute shards, machines, memory, disk, build time and latency, from indexes that were measured.

    A number that such an index has shown stands beside the computed one; all others are computed only.
    """
    from cocite.retrieval.sizing.figures import measured_indexes
    from cocite.retrieval.sizing.growth import Growth
    from cocite.retrieval.sizing.machines import Machine, plan_cluster
    from cocite.retrieval.sizing.needs import Demand

    measured = measured_indexes()
    largest = measured[-1]
    demand = Demand(
        papers,
        papers * largest.links / largest.papers if links is None else links,
        papers * largest.contexts / largest.papers if contexts is None else contexts,
        _parse_encoders(encoders or []),
    )
    machine = Machine(_parse_ram(ram), cores)
    found = plan_cluster(demand, machine, Growth(measured), replicas=replicas, shards=shards)
    like = None if links is not None or contexts is not None or encoders else _same(found, measured)
    quantities = _quantities(found)
    if not found.coordinator_fits:
        wanted = found.needs.coordinator.wanted / GIB
        print_warnings(
            f"the coordinator should have {wanted:,.0f} GiB of memory, a machine larger than --ram {ram}"
        )
    shown = {} if like is None else _measured(like)
    if as_json:
        print_json(
            {
                "papers": demand.papers,
                "links": demand.links,
                "contexts": demand.contexts,
                "encoders": demand.encoders,
                "computed": quantities,
                "measured": shown,
                "from": [one.to_json() for one in measured],
            }
        )
        return
    _print(found, quantities, shown, measured)


def _quantities(found: ClusterPlan) -> dict[str, float]:
    """What is computed, by name; the unit is the name's last word, where it has one."""
    needs = found.needs
    return {
        "shards": needs.amounts.shards,
        "machines": found.machines,
        "shards a machine": found.shards_a_machine,
        "machine with most shards, memory GiB": found.busiest_bytes / GIB,
        "coordinator, resident GiB": needs.coordinator.resident / GIB,
        "coordinator, mapped GiB": needs.coordinator.mapped / GIB,
        "shard, resident GiB": needs.shard.resident / GIB,
        "shard, hot GiB": needs.shard.hot / GIB,
        "shard, mapped GiB": needs.shard.mapped / GIB,
        "coordinator, disk GiB": needs.coordinator_disk / GIB,
        "shard, disk GiB": needs.shard_disk / GIB,
        "all replicas, disk GiB": found.replicas * needs.disk / GIB,
        "build, hours of one core": needs.build_cpu_s / 3600,
        **{f"{kind} query, shards side by side, ms": ms for kind, ms in needs.parallel_ms.items()},
        **{f"{kind} query, one thread, ms": ms for kind, ms in needs.serial_ms.items()},
    }


def _measured(like: MeasuredIndex) -> dict[str, float]:
    """The same of an index that was measured, where it shows it."""
    corpus = sum(size for part, size in like.bytes.items() if part.startswith("corpus:") or part == "words")
    shown = {
        "coordinator, resident GiB": like.opened / GIB,
        "coordinator, disk GiB": corpus / GIB,
        "shard, disk GiB": (sum(like.bytes.values()) - corpus) / like.shards / GIB,
        "all replicas, disk GiB": sum(like.bytes.values()) / GIB,
    }
    if like.build_cpu_s is not None:
        shown["build, hours of one core"] = like.build_cpu_s / 3600
    return shown | {
        f"{kind} query, one thread, ms": sum(steps.values()) for kind, steps in like.cpu_ms.items()
    }


def _same(found: ClusterPlan, measured: Any) -> MeasuredIndex | None:
    """The measured index of the same papers and shards; None: there is none, or several replicas are planned."""
    wanted = (found.needs.amounts.papers, found.needs.amounts.shards)
    same = (one for one in measured if (one.papers, one.shards) == wanted)
    return next(same, None) if found.replicas == 1 else None


def _print(found: ClusterPlan, quantities: dict[str, float], shown: dict[str, float], measured: Any) -> None:
    amounts = found.needs.amounts
    rows = [(name, _short(value), _short(shown.get(name))) for name, value in quantities.items()]
    title = f"{amounts.papers:,.0f} papers, {amounts.links:,.0f} links, {amounts.contexts:,.0f} contexts"
    print_table(title, ["what", "computed", "measured"], rows)
    beyond = amounts.papers / measured[-1].papers
    if beyond > 1:
        out.print(f"the papers are {beyond:,.0f} times those of the largest index that was measured")
    out.print("times are of the CPU, without vectors, network and waiting; computed from")
    for one in measured:
        out.print(f"  {one.papers:,} papers, {one.shards} shards: `{one.command}`, {one.date}, {one.cpu}")


def _short(value: float | None) -> str:
    """A number of about three digits; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, int) or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _parse_ram(text: str) -> int:
    """Bytes of a size, as ``64GiB``, ``64GB`` or ``64G``.

    Raises:
        InputError: it is none, or less than 1 GiB, or more than 1,024 TiB.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?) *([KMGT]?I?)B?", text.strip().upper())
    if match is None or match[2] not in UNITS:
        raise InputError(f"{text!r} is not a size as 64GiB", where="--ram")
    size = int(float(match[1]) * UNITS[match[2]])
    if not LEAST_RAM <= size <= MOST_RAM:
        raise InputError(f"{text!r} is not between 1 GiB and 1,024 TiB", where="--ram")
    return size


def _parse_encoders(entries: list[str]) -> dict[str, int]:
    """The dimension of each encoder's vectors, by its name.

    Raises:
        InputError: an entry is not a name and a dimension, or a name stands twice.
    """
    found: dict[str, int] = {}
    for entry in entries:
        name, _, dimension = entry.partition(":")
        if (
            not name
            or not re.fullmatch(r"[0-9]{1,6}", dimension)
            or not 1 <= int(dimension) <= MOST_DIMENSION
        ):
            raise InputError(
                f"{entry!r} is not a name and a dimension up to {MOST_DIMENSION:,}, as sentence:384",
                where="--encoders",
            )
        if name in found:
            raise InputError(f"{name!r} stands twice", where="--encoders")
        found[name] = int(dimension)
    return found
