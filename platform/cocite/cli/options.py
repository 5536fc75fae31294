"""Options and arguments that commands of several packages share, as annotated types of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cocite.cli.locations import INPUT, OUTPUT
from cocite.errors import InputError

# -- output ---------------------------------------------------------------------------------------------------

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]

# -- corpora --------------------------------------------------------------------------------------------------

StoreArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A corpus store.")]
StoreDestinationOption = Annotated[Path, typer.Option("--to", **OUTPUT, help="Folder to write the store to.")]
ReplaceOption = Annotated[
    bool,
    typer.Option("--replace", help="Put what is written in the place of what an earlier run wrote there."),
]
CorpusOption = Annotated[Path, typer.Option("--corpus", **INPUT, help="Corpus store.")]

# -- indexes and models ---------------------------------------------------------------------------------------

IndexArgument = Annotated[Path, typer.Argument(metavar="INDEX", help="An index folder.")]
EncodersOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        **INPUT,
        help="Model folder whose encoders make the vectors.",
    ),
]
KeepOption = Annotated[
    int,
    typer.Option(
        "--keep",
        min=1,
        max=10_000,
        help="Versions that stay; older ones are deleted when no process has them open.",
    ),
]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder, or one part of it.")]


def _no_verify(value: bool) -> bool:
    if value:
        from cocite.verification import switch_off

        switch_off()
    return value


NoVerifyOption = Annotated[
    bool,
    typer.Option(
        "--no-verify",
        callback=_no_verify,
        help="Trust corpus and index: do not compare them with their SHA-256 where this machine has not done it yet.",
    ),
]
"""For a command that opens a corpus or an index. The option acts when it is parsed; its parameter is not read."""

# -- citation keys --------------------------------------------------------------------------------------------


def _key_form(value: str | None) -> str | None:
    if value is not None:
        from cocite.corpus.bibtex import formula_of

        formula_of(value, "--cite-keys")
    return value


CiteKeysOption = Annotated[
    str | None,
    typer.Option(
        "--cite-keys",
        metavar="FORM",
        callback=_key_form,
        help="Form of new keys: cocite, as vaswani2017attention, better-bibtex, as Better BibTeX makes them by "
        "default: vaswaniAttentionAllYou2017, or a formula of Better BibTeX, as 'auth.lower + year' "
        "[default: cocite].",
    ),
]

# -- ranking --------------------------------------------------------------------------------------------------

CandidatesOption = Annotated[
    Literal["all", "older"],
    typer.Option(
        "--candidates",
        help="Papers that may be ranked: all, or older: of a query with a year, those of that year or earlier and "
        "those of unknown year.",
    ),
]
DepthOption = Annotated[int, typer.Option("--k", min=1, max=100_000, help="Papers per query.")]
QueryBatchOption = Annotated[
    int, typer.Option("--batch", min=1, max=4096, help="Queries ranked at a time; bounds the memory.")
]
FORM_HELP = "Texts of a query that BM25 reads [default: the best ones for the query's kind]."
RerankOption = Annotated[
    int | None,
    typer.Option(
        "--rerank",
        min=0,
        max=100_000,
        help="Candidates that the cross-encoder reads [default: 50, or as the confidence was calibrated].",
    ),
]

OnOption = Annotated[
    Literal["process", "ray"],
    typer.Option(
        "--on",
        help="Where the shards of an index are searched: one after the other in this process, or at the same time as "
        "actors of Ray, where every machine of the cluster sees the index folder, or copies its shards from a URI.",
    ),
]

# -- queries of a task ----------------------------------------------------------------------------------------

SampleOption = Annotated[
    int | None,
    typer.Option(min=1, max=1_000_000_000, help="Number of queries, drawn with the seed [default: all]."),
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the query sample.")]
MinCitationsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1_000_000,
        help="Global queries are papers that cite at least so many of the corpus; Citeomatic's paper has 10 on DBLP "
        "and PubMed [default: 1].",
    ),
]

# -- trainings and sweeps -------------------------------------------------------------------------------------

OverridesArgument = Annotated[list[str] | None, typer.Argument(help="key.path=value, any number.")]
QueryWorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        max=100_000,
        help="With --on ray: rank parts of the queries by so many tasks at a time, each of which opens the index, "
        "instead of searching its shards as actors. What was begun goes on.",
    ),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--address", help="Address of a running Ray cluster [default: RAY_ADDRESS, else a private Ray]."
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        max=10_000,
        help="Parts that are made at a time [default: all that the cluster fits].",
    ),
]
CpusOption = Annotated[
    float, typer.Option("--cpus", min=0.01, max=1024, help="Cores of each worker, which are its threads.")
]
GpusOption = Annotated[
    float | None,
    typer.Option(
        "--gpus",
        min=0,
        max=64,
        help="GPUs of each worker; a share, as .25, divides one; 0: it computes on the CPU [default: 1 where the "
        "cluster has GPUs, or --accelerator names one, and a model computes].",
    ),
]
AcceleratorOption = Annotated[
    str,
    typer.Option(
        "--accelerator",
        metavar="TYPE",
        help="Ray's name of the GPU, such as H100, that workers run on; the job's own process where it has none.",
    ),
]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Wait for resources that a growing cluster does not have yet.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show Ray's own log.")]


def check_on_ray(on: Literal["process", "ray"], given: Mapping[str, bool]) -> None:
    """Refuse options of Ray's where the work is done in this process.

    Args:
        on: where it is done.
        given: option -> whether it was given.

    Raises:
        InputError: names the first that was.

    Example:
        >>> check_on_ray("process", {"--wait": False})
    """
    for option, is_given in given.items():
        if is_given and on != "ray":
            raise InputError("goes with --on ray", where=option)


def query_workers(
    on: Literal["process", "ray"],
    address: str | None,
    count: int | None,
    *,
    cpus: float = 1.0,
    gpus: float | None = None,
    accelerator: str = "",
    wait: bool = False,
    has_model: bool = False,
) -> dict[str, Any] | None:
    """Who ranks parts of the queries, by the names of ``cocite_jobs.steps.run_parts.Workers``; None: nobody does.

    Args:
        on, address, count, cpus, gpus, accelerator, wait: as options name them.
        has_model: whether a model ranks, which computes on a GPU where there is one.

    Raises:
        InputError: an option of Ray's is given without Ray, or one of workers without them.

    Example:
        >>> query_workers("ray", None, 2, has_model=True)["gpus"], query_workers("ray", None, 2)["gpus"]
        (None, 0.0)
    """
    if address is not None and on != "ray":
        raise InputError("an address goes with --on ray", where="--address")
    check_on_ray(on, {"--workers": count is not None, "--wait": wait})
    own = {"--cpus": cpus != 1.0, "--gpus": gpus is not None, "--accelerator": bool(accelerator)}
    for option, is_given in own.items():
        if is_given and count is None:
            raise InputError("goes with --workers", where=option, hint="say how many tasks rank")
    if count is None:
        return None
    if gpus is None and not has_model:
        gpus = 0.0
    reserved = {"cpus": cpus, "gpus": gpus, "accelerator": accelerator}
    return {"address": address, "count": count, "wait": wait, **reserved}


def start_mode(resume: bool, fresh: bool, *, command: str) -> Literal["new", "resume", "fresh"]:
    """The way to start that ``--resume`` and ``--fresh`` choose.

    Raises:
        InputError: both are given.

    Example:
        >>> from cocite.cli.options import start_mode
        >>> start_mode(resume=True, fresh=False, command="train")
        'resume'
    """
    if resume and fresh:
        raise InputError("--resume and --fresh exclude each other", where=command)
    return "resume" if resume else "fresh" if fresh else "new"
