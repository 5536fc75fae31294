"""The options that every submitted command has beside its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
import typer.main

from cocite.cli.options import JsonOption
from cocite_jobs.cli.job_output import LOCAL, AddressOption

GIB = 2**30


@dataclass(frozen=True)
class Submission:
    """How a command is submitted.

    Attributes:
        address: of the cluster's dashboard.
        name: of the job; empty: the cluster's choice.
        wait: for nodes that the cluster does not have yet.
        environment: variables of the job's processes.
        cpus: that the job's own process reserves; None: by what it does.
        gpus: that it reserves, and sees; None: by what it does.
        memory: bytes that it reserves.
        resources: amounts of the cluster's own resources that it reserves.
        accelerator: Ray's name of the GPU to run on; empty: any.
        pip: requirements that Ray installs for the job.
        image: URI of the job's container image.
        installed: the cluster has cocite.
        detach: do not wait for the end.
        as_json: print one JSON document.

    Example:
        >>> Submission(gpus=1).cpus is None, Submission().gpus is None
        (True, True)
    """

    address: str = LOCAL
    name: str = ""
    wait: bool = False
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    cpus: float | None = None
    gpus: float | None = None
    memory: int = 0
    resources: Mapping[str, float] = field(default_factory=dict)
    accelerator: str = ""
    pip: tuple[str, ...] = ()
    image: str = ""
    installed: bool = False
    detach: bool = False
    as_json: bool = False


app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def submission(
    address: AddressOption = LOCAL,
    job_name: Annotated[str, typer.Option("--name", help="Name of the job [default: of the cluster].")] = "",
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for resources that a growing cluster does not have yet.")
    ] = False,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME=VALUE", help="A variable of the job, any number; never printed."),
    ] = None,
    driver_cpus: Annotated[
        float | None,
        typer.Option(
            "--driver-cpus",
            min=0,
            max=10_000,
            help="CPUs that the job's own process reserves [default: 1; next to none where workers do the work].",
        ),
    ] = None,
    driver_gpus: Annotated[
        float | None,
        typer.Option(
            "--driver-gpus",
            min=0,
            max=10_000,
            help="GPUs that it reserves; it sees no other [default: 0; without workers 1 where --accelerator names "
            "one].",
        ),
    ] = None,
    driver_memory: Annotated[
        float, typer.Option("--driver-memory", min=0, max=1_000_000, help="GiB that it reserves.")
    ] = 0,
    resource: Annotated[
        list[str] | None,
        typer.Option("--resource", metavar="NAME=AMOUNT", help="A custom resource that it reserves."),
    ] = None,
    accelerator: Annotated[
        str,
        typer.Option(
            "--accelerator",
            metavar="TYPE",
            help="Ray's name of the GPU, such as H100, that workers run on; the job's own process where it has none.",
        ),
    ] = "",
    pip: Annotated[
        list[str] | None,
        typer.Option("--pip", metavar="FILE|REQUIREMENT", help="Packages that Ray installs for the job."),
    ] = None,
    image: Annotated[
        str, typer.Option("--image", metavar="URI", help="Container image of the job; it has cocite.")
    ] = "",
    installed: Annotated[
        bool, typer.Option("--installed", help="The cluster has cocite: send no packages.")
    ] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Do not wait for the end.")] = False,
    as_json: JsonOption = False,
) -> Submission:
    """Check the options, and gather them.

    Raises:
        InputError: an option has no such form, or two exclude each other.
    """
    import re

    from cocite.errors import InputError
    from cocite_jobs.cluster.job_request import parse_amounts, parse_pairs, parse_requirements

    if job_name and not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,62}", job_name):
        raise InputError(
            f"{job_name!r} is no name of a job", where="--name", hint="up to 63 letters, digits, . _ -"
        )
    if accelerator and not re.fullmatch(r"[\w.-]+", accelerator):
        raise InputError(f"{accelerator!r} is no type of an accelerator", where="--accelerator", hint="H100")
    if pip and image:
        raise InputError("an image has its packages", where="--pip", hint="leave out --pip or --image")
    return Submission(
        address,
        job_name,
        wait,
        parse_pairs(env or (), "--env"),
        driver_cpus,
        driver_gpus,
        int(driver_memory * GIB),
        parse_amounts(resource or (), "--resource"),
        accelerator,
        tuple(parse_requirements(pip or ())),
        image,
        installed or bool(image),
        detach,
        as_json,
    )


def submission_parameters() -> list[Any]:
    """The options, for the parser of a command; a list of their own for each call."""
    return [param for param in typer.main.get_command(app).params if param.name != "help"]
