"""Runs a module on a stranger's data in a process of its own, which may take so much time and memory and no more.

Parsers compute for seconds on what was made to trouble them, and hold other work of their process up meanwhile. Nothing
of the data is written to disk: it goes in by a pipe, and the answer comes back by another, both as JSON.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cocite.errors import InputError

START_S = 20.0
"""Seconds that the process may take to start, beside those for the data; on an idle machine it takes half a second."""
MEMORY = 1 << 30
"""Bytes that the process may take beside those of its own code."""


def answer_apart(
    module: str, job: Mapping[str, Any], *, seconds: float, noun: str, hint: str
) -> dict[str, Any]:
    """What a module makes of a job in another process.

    The module reads the job from its standard input, calls :func:`bound_process`, and writes an object to its standard
    output, both as JSON. An object with ``error``, which holds ``message``, ``where`` and ``hint``, is raised here.

    Args:
        module: run as ``python -m``.
        job: an object of JSON.
        seconds: that the work may take.
        noun: what is read, for errors, such as "the draft".
        hint: what to do where it takes too much.

    Raises:
        InputError: the module answers with an error, or takes too long or too much memory.

    Example:
        >>> answer_apart("json.tool", {"a": 1}, seconds=60, noun="the object", hint="shorten it")
        {'a': 1}
    """
    # The other process has to find this package where this process has found it, as in a worker of Ray.
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a traceback may quote the data
        env=environment,
    )
    try:
        output, _ = process.communicate(json.dumps(job).encode(), timeout=seconds + START_S)
    except subprocess.TimeoutExpired:
        raise InputError(f"reading {noun} takes more than {seconds:g} s", hint=hint) from None
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    try:
        answer: dict[str, Any] = json.loads(output)
    except ValueError:
        raise InputError(f"reading {noun} takes more time or memory than is allowed", hint=hint) from None
    if "error" in answer:
        error = answer["error"]
        raise InputError(error["message"], where=error["where"], hint=error["hint"])
    return answer


def error_answer(error: InputError) -> dict[str, Any]:
    """The answer that :func:`answer_apart` raises as an error.

    Example:
        >>> error_answer(InputError("is empty", where="a.txt"))
        {'error': {'message': 'is empty', 'where': 'a.txt', 'hint': None}}
    """
    return {"error": {"message": error.message, "where": error.where, "hint": error.hint}}


def memory_error(memory: int, *, noun: str, hint: str) -> InputError:
    """The error of a reading that takes more than ``memory`` bytes."""
    return InputError(f"reading {noun} takes more than {memory >> 20} MiB of memory", hint=hint)


def bound_process(seconds: float, memory: int) -> None:
    """Let this process take no more than its share, also where nobody waits for it any more.

    Args:
        seconds: that it may compute, beside those to start.
        memory: bytes that it may take beside those that it has.
    """
    most = math.ceil(seconds) + math.ceil(START_S)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the system would write the data to disk with it
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
