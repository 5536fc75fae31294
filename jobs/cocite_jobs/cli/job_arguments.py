"""The job that a parsed command line becomes: its arguments as the cluster reads them, and the files that travel."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cocite.errors import InputError
from cocite_jobs.cli.submission import Submission
from cocite_jobs.cli.submitted import Submitted
from cocite_jobs.cluster.driver_resources import ACCELERATOR, PRESENT, WAITING, WORKING, DriverResources
from cocite_jobs.cluster.job_request import JobRequest

INPUTS = frozenset({"source", "corpus", "index", "model", "queries", "run", "qrels", "against", "vectors"})
"""Parameters that name what a command reads; those of a recipe or a sweep have checks of their own."""
OUTPUTS = frozenset({"to", "rejects", "markdown", "diagram", "tracking", "cache"})
"""Parameters that name what a command writes."""
DECIDED = frozenset({"track", "wait"})
"""Parameters that a job gets in any case, one way or the other."""


def make_request(
    entry: Submitted, parameters: Sequence[Any], values: Mapping[str, Any], submission: Submission
) -> JobRequest:
    """The job of a parsed command line.

    Args:
        entry: the command.
        parameters: of its parser.
        values: that the parser read, by the parameters' names.
        submission: how it is submitted.

    Raises:
        InputError: a location is missing or relative, or the command is refused.
    """
    values, files = _locate(entry, parameters, values)
    checked = entry.check(values) if entry.check else None
    if checked is not None:
        values[entry.subject] = checked.name
        files += [checked.file] if checked.file else []
    if entry.on_ray and "on" in values:
        values["on"] = "ray"
    on_ray, names = values.get("on") == "ray", {param.name for param in parameters}
    in_tasks = on_ray and (not entry.if_counted or values["workers"] is not None)
    has_tasks = in_tasks and "accelerator" in names
    others = dict(submission.resources)
    gpus = submission.gpus
    if gpus is None and checked is not None:
        gpus = checked.gpus or None
    if submission.accelerator and checked is not None and checked.accelerator:
        values["overrides"] = [
            *(values["overrides"] or ()),
            f"{checked.accelerator}={submission.accelerator}",
        ]
    elif submission.accelerator and not has_tasks:
        others[ACCELERATOR + submission.accelerator] = PRESENT
        gpus = 1 if gpus is None else gpus
    if submission.image and files:
        raise InputError(
            f"{files[0].name!r} cannot travel with a job that has an image",
            where="--image",
            hint="put it where the cluster reads it",
        )
    # Where Ray only searches the shards of an index, as for a fusion, the command does the rest of the work itself.
    waits = in_tasks if checked is None else checked.has_workers
    cpus = submission.cpus if submission.cpus is not None else WAITING if waits else WORKING
    arguments = [*entry.path, *_words(parameters, values)]
    if "track" in names:
        arguments.append("--track" if _tracks(parameters, values) else "--no-track")
    if "wait" in names and submission.wait and values.get("on") != "process":
        arguments.append("--wait")
    if submission.accelerator and has_tasks:
        arguments += ["--accelerator", submission.accelerator]
    return JobRequest(
        arguments,
        kind=entry.kind,
        subject=str(values.get(entry.subject) or ""),
        files=files,
        installed=submission.installed,
        name=submission.name,
        environment=submission.environment,
        driver=DriverResources(cpus, gpus or 0, submission.memory, others),
        pip=submission.pip,
        image=submission.image,
    )


def _locate(
    entry: Submitted, parameters: Sequence[Any], values: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Path]]:
    """Values as the cluster finds what they name, and the local files that have to travel.

    A job runs on another machine, in a folder that is removed when it ends: what it reads and writes is an absolute
    path there, or a URI; or a file that is here under a relative path, which travels.
    """
    located, files = dict(values), list[Path]()
    for param in parameters:
        value = values.get(param.name)
        if param.name not in INPUTS | OUTPUTS:
            continue
        option = param.opts[0] if param.param_type_name == "option" else param.name.upper()
        if param.name in entry.needed and value in (None, "", param.default):
            raise InputError("is needed: a path on the cluster, or a URI", where=option)
        if value is None or value == param.default:
            continue
        for text in map(str, value) if isinstance(value, list | tuple) else [str(value)]:
            if text.startswith("/") or "://" in text:
                continue
            if param.name in INPUTS and Path(text).is_file():
                files.append(Path(text))
                located[param.name] = Path(text).name
                continue
            raise InputError(
                f"{text!r} is relative, and a job has no folder of its own",
                where=option,
                hint="give an absolute path on the cluster, or a URI"
                + ("; a file that is here travels" if param.name in INPUTS else ""),
            )
    return located, files


def _words(parameters: Sequence[Any], values: Mapping[str, Any]) -> list[str]:
    """Values as words of a command line: the arguments, then the options; what has its default is left out."""
    arguments, options = list[str](), list[str]()
    for param in parameters:
        value = values.get(param.name)
        if value is None or param.name in DECIDED or (value == param.default and not param.required):
            continue
        texts = [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]
        if param.param_type_name == "argument":
            arguments += texts
        elif isinstance(value, bool):
            options += [param.opts[0]] if value else param.secondary_opts[:1]
        else:
            for text in texts:
                options += [f"{param.opts[0]}={text}"] if text.startswith("-") else [param.opts[0], text]
    if any(text.startswith("-") for text in arguments):
        return [*options, "--", *arguments]
    return [*arguments, *options]


def _tracks(parameters: Sequence[Any], values: Mapping[str, Any]) -> bool:
    """Whether a job keeps its run in MLflow: as the user says, else where there is a server for it."""
    [param] = [param for param in parameters if param.name == "track"]
    asked = values.get("track")
    return "MLFLOW_TRACKING_URI" in os.environ if asked == param.default else bool(asked)
