"""The parts that the GPU benchmarks share: options, the device and its limit, timing, memory, and how rows are kept."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks._measured_process import MemorySampler, processor
from cocite.atomic_files import write_atomic
from cocite.training.engine.flops import known_peak, measured_peak
from cocite.training.engine.memory import return_freed_memory

FAILED = "failed: "
"""How the note of a row begins that could not be measured because of an error."""


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all of them have."""
    result = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    result.add_argument("--repeats", type=int, default=10)
    result.add_argument(
        "--small",
        action=argparse.BooleanOptionalAction,
        help="a tiny model and few pairs: does it run at all? The default on a CPU",
    )
    result.add_argument("--json", type=Path, help="file to write the result to")
    return result


def parse(parser_: argparse.ArgumentParser, arguments: list[str] | None) -> argparse.Namespace:
    """The options given, with the size that the device takes by default."""
    options = parser_.parse_args(arguments)
    options.device = torch.device(options.device)
    if options.small is None:
        options.small = options.device.type == "cpu"
    return options


def attempted(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a row measures; where it cannot be measured, its ``note`` says why, and the next row can be.

    A package that is not installed is no error: a machine with a GPU may have few.
    """
    try:
        return work()
    except Exception as error:
        for cause in (error, error.__cause__):
            if isinstance(cause, ModuleNotFoundError):
                return {"note": f"not run: {cause.name} is not installed"}
        traceback.print_exc()
        return {"note": f"{FAILED}{type(error).__name__}: {str(error).partition(chr(10))[0]}"}


def exit_code(rows: list[dict[str, Any]]) -> int:
    """1 where a row failed, else 0."""
    return int(any(row.get("note", "").startswith(FAILED) for row in rows))


def limits(device: torch.device) -> dict[str, float]:
    """bf16 FLOP/s of the device: what its data sheet says (where known), and what a large matrix product reaches."""
    found = {"measured": measured_peak(device, "bf16", torch.get_num_threads())}
    known = known_peak(torch.cuda.get_device_name(device), "bf16") if device.type == "cuda" else None
    return {"sheet": known, **found} if known else found


def seconds(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Median time of a call, after two that are not counted."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    times = []
    for repeat in range(repeats + 2):
        wait()
        began = time.perf_counter()
        work()
        wait()
        if repeat >= 2:
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def with_peak(work: Callable[[], dict[str, Any]], device: torch.device) -> dict[str, Any]:
    """What a training measures, and the most memory that it took: torch's on a GPU, else the process's own."""
    return_freed_memory()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        result = work()
        return {**result, "peak MB": torch.cuda.max_memory_allocated(device) / 1e6}
    sampler = MemorySampler(os.getpid(), math.inf)
    try:
        result = work()
    finally:
        sampler.end()
    return {**result, "peak MB": sampler.anonymous / 1e6}


def real_lengths(count: int, longest: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Token counts like those of the ACL corpus' local pairs: log-normal, median 395 of 512, log deviation 0.2."""
    lengths = longest / 512 * rng.lognormal(np.log(395), 0.2, count)
    return np.clip(lengths, 16, longest).astype(np.int64)


def shares(flops: float, seconds_: float, limit: dict[str, float]) -> dict[str, float]:
    """TFLOP/s reached, and its share of each limit."""
    reached = flops / seconds_
    return {"TFLOP/s": reached / 1e12, **{f"of {name} limit": reached / most for name, most in limit.items()}}


def keep(
    name: str, device: torch.device, rows: list[dict[str, Any]], path: Path | None, **facts: Any
) -> None:
    """Print a table with device, date and versions, and write it if told so."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    if "note" in columns:  # the longest one comes last
        columns.remove("note")
        columns.append("note")
    run = circumstances(device)
    used = ", ".join(f"{package} {number}" for package, number in run["versions"].items())
    print(f"{name} on {run['device']}, {run['date']}, {used}\n")
    for key, value in facts.items():
        print(f"{key}: {value}")
    print("\n| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for row in rows:
        print("| " + " | ".join(_shown(row.get(column, "")) for column in columns) + " |")
    if path is not None:
        write_atomic(path, json.dumps({"benchmark": name, **run, **facts, "rows": rows}, indent=1) + "\n")


def circumstances(device: torch.device) -> dict[str, Any]:
    """Device, date, and versions of what is measured."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "device": device_name(device),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Of Python and the packages that the time depends on, as far as they are installed, and of CUDA."""
    found = {"Python": platform.python_version()}
    for package in ("torch", "triton", "transformers", "deepspeed"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, "CUDA": torch.version.cuda} if torch.version.cuda else found


def device_name(device: torch.device) -> str:
    """The GPU's name, or the processor's."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"a CPU ({processor()})"


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
