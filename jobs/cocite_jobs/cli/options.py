"""Options that several commands of this package share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cocite.cli.locations import INPUT, OUTPUT
from cocite.cli.options import check_on_ray

if TYPE_CHECKING:
    from cocite_jobs.steps.run_parts import Workers

ALIAS = "candidate"
"""Alias of a registered model where ``--register`` names none."""

RegisterOption = Annotated[
    str | None,
    typer.Option(
        "--register", metavar="NAME[@ALIAS]", help=f"Register the model in MLflow [default alias: {ALIAS}]."
    ),
]

# -- cocite evaluate ------------------------------------------------------------------------------------------

SplitOption = Annotated[str, typer.Option(help="Split whose papers are the queries: test, dev or train.")]
IndexOption = Annotated[
    Path | None,
    typer.Option(
        **INPUT,
        help="Index folder of the corpus that knows all links, or those before the split: its vectors are not made "
        "again.",
    ),
]
RunsOption = Annotated[
    Path | None,
    typer.Option(**OUTPUT, help="Folder for TREC runs, qrels and the report."),
]
MarkdownOption = Annotated[
    Path | None,
    typer.Option(**OUTPUT, help="File to write the tables to in Markdown."),
]
BaselineSettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--setting",
        metavar="KEY=VALUE",
        help="Setting of the baselines that are trained, as w2v.window=5 or ncn.epochs=1; repeatable.",
    ),
]
TrackingOption = Annotated[
    Path, typer.Option(help="Folder of MLflow's store, unless MLFLOW_TRACKING_URI is set.")
]
TrackOption = Annotated[bool, typer.Option(help="Log the result to MLflow.")]

# -- data steps -----------------------------------------------------------------------------------------------

WorkersOnOption = Annotated[
    Literal["process", "ray"],
    typer.Option(
        "--on",
        help="Where the parts are made: one after the other in this process, or side by side as tasks of Ray, where "
        "every machine of the cluster sees what is read and written under the same path or URI.",
    ),
]


def workers_of(
    on: Literal["process", "ray"],
    address: str | None,
    count: int | None,
    cpus: float = 1.0,
    gpus: float | None = None,
    *,
    accelerator: str = "",
    wait: bool = False,
) -> Workers:
    """Who makes the parts of a step, as options name them.

    Raises:
        InputError: an option of Ray's is given, and Ray is not.

    Example:
        >>> workers_of("ray", None, 4).count
        4
    """
    from cocite_jobs.steps.run_parts import Workers

    given = {"--address": address is not None, "--workers": count is not None, "--cpus": cpus != 1.0}
    given |= {"--gpus": gpus is not None, "--accelerator": bool(accelerator), "--wait": wait}
    check_on_ray(on, given)
    return Workers(
        on=on, address=address, count=count, cpus=cpus, gpus=gpus, accelerator=accelerator, wait=wait
    )
