"""A job that is to be submitted: its command line, the files and packages it needs, and what it reserves."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cocite.errors import InputError
from cocite_jobs.cluster.driver_resources import GPUS, DriverResources

SUBJECT_KEY, KIND_KEY, SECRETS_KEY = "cocite.subject", "cocite.kind", "cocite.secrets"
"""Keys of a job's metadata; other people's jobs on the same cluster do not have them."""
TRAVELLING = ("COCITE_PRECISION", "HF_HUB_OFFLINE", "MLFLOW_TRACKING_URI")
"""Variables of this environment that a job gets, too: its own knows nothing of this one."""
STOP_S = 120
"""Seconds between the SIGTERM and the SIGKILL of a job that is stopped: a training writes a checkpoint meanwhile. Ray
waits 3 s unless told."""
MASK = "***"
"""What is printed in the place of a value of ``--env``."""


@dataclass(frozen=True)
class JobRequest:
    """What :class:`~cocite_jobs.cluster.job_client.JobClient` submits.

    Attributes:
        arguments: of ``cocite``; a file that travels is named without its folder.
        kind: the command, such as ``train``; kept in the job's metadata.
        subject: what it works on, such as a recipe; kept there too.
        files: that travel with the job.
        installed: the cluster has cocite installed: no packages are sent.
        name: by which the cluster knows the job; empty: the cluster chooses one.
        environment: variables of the job's processes. Their values are never printed.
        driver: what the command reserves.
        pip: requirements that Ray installs for the job's processes.
        image: URI of the container image that they run in; it has cocite and its packages.

    Example:
        >>> request = JobRequest(["train", "hatten"], kind="train", subject="hatten", environment={"KEY": "secret"})
        >>> request.entrypoint, request.metadata()
        ('CUDA_VISIBLE_DEVICES= python -m cocite train hatten',
         {'cocite.subject': 'hatten', 'cocite.kind': 'train', 'cocite.secrets': 'KEY'})
        >>> JobRequest(["train", "nnselect"], kind="train", subject="", driver=DriverResources(gpus=1)).entrypoint
        'python -m cocite train nnselect'
    """

    arguments: Sequence[str]
    kind: str
    subject: str
    files: Sequence[Path] = ()
    installed: bool = False
    name: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    driver: DriverResources = field(default_factory=DriverResources)
    pip: Sequence[str] = ()
    image: str = ""

    @property
    def entrypoint(self) -> str:
        """The command that the cluster's shell runs; it sees no GPU unless it reserves one.

        Ray hides no GPU from a command that reserves none, and torch takes what it sees.
        """
        # Here alone: workers would get the variable from the job's runtime environment, too, and with it empty Ray
        # shows them none of the GPUs that they reserve.
        hidden = "" if self.driver.gpus or GPUS in self.environment else f"{GPUS}= "
        # Not the script ``cocite``: the packages may be in the working directory and not installed.
        return f"{hidden}python -m cocite {shlex.join(self.arguments)}"

    def metadata(self) -> dict[str, str]:
        """What the cluster keeps of the job."""
        keys = {
            SUBJECT_KEY: self.subject,
            KIND_KEY: self.kind,
            SECRETS_KEY: ",".join(sorted(self.environment)),
        }
        return {key: value for key, value in keys.items() if value}

    def runtime_environment(self, directory: Path | None) -> dict[str, Any]:
        """Ray's runtime environment of the job.

        Args:
            directory: that travels; None: nothing does.
        """
        variables = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONUNBUFFERED": "1",
            "RAY_JOB_STOP_WAIT_TIME_S": str(STOP_S),
        }
        variables |= {name: os.environ[name] for name in TRAVELLING if name in os.environ}
        runtime: dict[str, Any] = {"env_vars": variables | dict(self.environment)}
        if directory is not None:
            runtime["working_dir"] = str(directory)
        if self.pip:
            runtime["pip"] = list(self.pip)
        if self.image:
            runtime["image_uri"] = self.image
        return runtime


def mask_values(text: str, metadata: Mapping[str, str], runtime: Mapping[str, Any]) -> str:
    """A text of the cluster without the values of a job's ``--env``.

    Args:
        text: which may repeat the job's environment.
        metadata: of the job, which names the variables.
        runtime: the job's runtime environment, which has their values.

    Example:
        >>> mask_values("no such bucket: key", {SECRETS_KEY: "A"}, {"env_vars": {"A": "key"}})
        'no such bucket: ***'
    """
    values = runtime.get("env_vars") or {}
    secrets = [str(values.get(name, "")) for name in metadata.get(SECRETS_KEY, "").split(",")]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """``NAME=VALUE`` of an option, by name. Errors do not repeat the values.

    Raises:
        InputError: a text has no such form, or a name is given twice.

    Example:
        >>> parse_pairs(["A=1", "B="], "--env")
        {'A': '1', 'B': ''}
    """
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[\w:.-]+", name):
            raise InputError(f"{name!r} is not of the form NAME=VALUE", where=option)
        if name in pairs:
            raise InputError(f"{name!r} is given twice", where=option)
        pairs[name] = value
    return pairs


def parse_amounts(texts: Sequence[str], option: str) -> dict[str, float]:
    """``NAME=AMOUNT`` of an option, by name.

    Raises:
        InputError: a text has no such form, or its amount is no number above 0.

    Example:
        >>> parse_amounts(["disk=2"], "--resource")
        {'disk': 2.0}
    """
    amounts: dict[str, float] = {}
    for name, value in parse_pairs(texts, option).items():
        try:
            amounts[name] = float(value)
        except ValueError:
            amounts[name] = 0.0
        if not 0 < amounts[name] <= 1e9:
            raise InputError(f"{name}: {value!r} is no amount above 0", where=option)
    return amounts


def parse_requirements(texts: Sequence[str]) -> list[str]:
    """Requirements of pip, given one by one or as files of requirements.

    Raises:
        InputError: a text with a path is no file, or a file is no text, as a wheel is.

    Example:
        >>> parse_requirements(["s3fs>=2025.3"])
        ['s3fs>=2025.3']
    """
    requirements: list[str] = []
    for text in texts:
        if Path(text).is_file():
            try:
                content = Path(text).read_text("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{text!r} is no file of requirements",
                    where="--pip",
                    hint="write the URI of a wheel, which every machine sees, into such a file",
                ) from error
            lines = (line.partition(" #")[0].strip() for line in content.splitlines())
            requirements += [line for line in lines if line and not line.startswith("#")]
        elif "/" in text and "://" not in text:
            raise InputError(f"no file {text!r}", where="--pip", hint="name a file or a requirement")
        else:
            requirements.append(text)
    return requirements
